// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/configuration.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

document yaml(const std::string& text, const std::string& file = "pools.yaml") {
    return parse_document(text, file, document_format::yaml);
}

configuration read(std::vector<document> documents, const instance_identity& instance = {}) {
    return read_configuration(documents, instance);
}

configuration read(const std::string& text, const instance_identity& instance = {}) {
    return read(std::vector{yaml(text)}, instance);
}

std::string refusal(std::vector<document> documents) {
    try {
        read(std::move(documents));
        return "was accepted";
    } catch (const configuration_error& refused) {
        return refused.what();
    }
}

std::string refusal(const std::string& text) { return refusal(std::vector{yaml(text)}); }

const std::string expected_document = R"(
defaults: { keep_alive: 60s, rejection: abort }
limits: { max_threads_per_pool: 200, max_threads_per_process: 1000, max_step: 50 }
pools:
  orders: { core_pool_size: 8, maximum_pool_size: 32, queue_capacity: 2000 }
overrides:
  - match: { env: prod, host: "web-*" }
    pools: { orders: { maximum_pool_size: 64 } }
)";

TEST(configuration, reads_the_document_of_the_manual) {
    const auto result = read(expected_document);
    EXPECT_EQ(result.limits, (thread_limits{200, 1000, 50}));
    ASSERT_EQ(result.pools.size(), 1U);
    const auto& orders = result.pools.at("orders");
    EXPECT_EQ(orders.settings, (pool_settings{.core_pool_size = 8,
                                              .maximum_pool_size = 32,
                                              .keep_alive = 60s,
                                              .queue_capacity = 2000,
                                              .rejection = "abort"}));
    EXPECT_FALSE(orders.auto_create);
    EXPECT_EQ(orders.file, "pools.yaml");
    EXPECT_EQ(orders.line, 5);
}

TEST(configuration, reads_every_key_of_a_pool) {
    const auto result = read(R"(
pools:
  all:
    core_pool_size: 0
    maximum_pool_size: 2
    keep_alive: 1m30s
    allow_core_thread_time_out: true
    queue_capacity: 10
    rejection: my_policy
    thread_name_prefix: orders
    prestart_core_threads: false
    run_timeout: 5s
    queue_timeout: 500ms
    interrupt_on_run_timeout: true
    auto_create: true
    kind: eager
    queue: array
  nothing:
)");
    EXPECT_EQ(result.pools.at("nothing").settings, pool_settings{});
    const auto& all = result.pools.at("all");
    EXPECT_EQ(all.settings,
              (pool_settings{0, 2, 90s, true, 10, "my_policy", "orders", false, 5s, 500ms, true}));
    EXPECT_TRUE(all.auto_create);
    EXPECT_EQ(all.kind, "eager");
    EXPECT_EQ(all.queue, "array");
}

TEST(configuration, means_the_same_in_every_format) {
    const auto expected =
        read("pools: {a: {core_pool_size: 2, keep_alive: 5s}}").pools.at("a").settings;
    const std::pair<document_format, std::string> texts[] = {
        {document_format::json, R"({"pools": {"a": {"core_pool_size": 2, "keep_alive": "5s"}}})"},
        {document_format::toml, "[pools.a]\ncore_pool_size = 2\nkeep_alive = '5s'\n"},
        {document_format::properties, "pools.a.core_pool_size=2\npools.a.keep_alive=5s\n"},
        {document_format::properties,
         "cadre.pools.a.core_pool_size=2\ncadre.pools.a.keep_alive=5s\n"}};
    for (const auto& [format, text] : texts)
        EXPECT_EQ(read({parse_document(text, "x", format)}).pools.at("a").settings, expected)
            << text;
}

TEST(configuration, does_not_mind_what_keys_others_have_in_shared_properties) {
    for (const std::string others :
         {"server=a\nserver.port=1\n", "foo..bar=1\n", "list[3]=1\n", "a.=1\n", "x[=1\n", ".a=1\n",
          "a=1\na=2\n", "a=\\ud83d\n", "spring=1\n", "spring.name=a\n"}) {
        const auto result = read({parse_document(others + "cadre.pools.a.core_pool_size=2\n", "x",
                                                 document_format::properties)});
        EXPECT_EQ(result.pools.at("a").settings.core_pool_size, 2) << others;
    }
    EXPECT_THROW(parse_document("cadre..pools=1\n", "x", document_format::properties),
                 configuration_error);
}

TEST(configuration, applies_an_override_where_all_of_its_match_fits) {
    const auto maximum = [](const instance_identity& instance) {
        return *read(expected_document, instance).pools.at("orders").settings.maximum_pool_size;
    };
    EXPECT_EQ(maximum({.environment = "prod", .host = "web-7"}), 64);
    EXPECT_EQ(maximum({.environment = "prod", .host = "db-7"}), 32);
    EXPECT_EQ(maximum({.environment = "test", .host = "web-7"}), 32);
    EXPECT_EQ(maximum({.host = "web-7"}), 32);
}

TEST(configuration, matches_addresses_labels_and_any_of_a_list) {
    const std::string text = R"(
pools: {a: {core_pool_size: 1}}
overrides:
  - {match: {address: "10.0.?.*:8080"}, pools: {a: {core_pool_size: 2}}}
  - {match: {label: [canary, "blue-*"]}, defaults: {maximum_pool_size: 9}}
)";
    const auto settings = read(text, {.address = "10.0.3.17:8080"}).pools.at("a").settings;
    EXPECT_EQ(settings.core_pool_size, 2);
    EXPECT_EQ(settings.maximum_pool_size, std::nullopt);
    EXPECT_EQ(read(text, {.labels = {"eu", "blue-2"}}).pools.at("a").settings.maximum_pool_size, 9);
    EXPECT_EQ(read(text, {.address = "10.0.33.17:8080"}).pools.at("a").settings.core_pool_size, 1);
}

TEST(configuration, gives_an_override_to_a_share_of_the_hosts) {
    const auto is_for = [](const std::string& host, int percent) {
        const auto text = "pools: {p: {core_pool_size: 1}}\noverrides: [{match: {percent: " +
                          std::to_string(percent) + "}, pools: {p: {core_pool_size: 2}}}]";
        return read(text, {.host = host}).pools.at("p").settings.core_pool_size == 2;
    };
    // 0x85944171f73967e8, the published FNV-1a of this word, is 68 modulo 100.
    EXPECT_FALSE(is_for("foobar", 68));
    EXPECT_TRUE(is_for("foobar", 69));
    int within = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto host = "web-" + std::to_string(i);
        within += is_for(host, 25);
        EXPECT_LE(is_for(host, 25), is_for(host, 50)) << host;
        EXPECT_FALSE(is_for(host, 0));
        EXPECT_TRUE(is_for(host, 100));
    }
    EXPECT_NEAR(within, 250, 50);
    const instance_identity test{.environment = "test", .host = "foobar"};
    EXPECT_EQ(
        read("pools: {p: {core_pool_size: 1}}\noverrides: [{match: {env: prod, percent: 100}, "
             "pools: {p: {core_pool_size: 2}}}]",
             test)
            .pools.at("p")
            .settings.core_pool_size,
        1)
        << "all keys must fit";
    for (const char* wrong : {"101", "-1", "2.5", "25%", "[25]"})
        EXPECT_THAT(refusal(std::string("overrides: [{match: {percent: ") + wrong + "}}]"),
                    HasSubstr("overrides[0].match.percent: must be "));
}

TEST(configuration, lets_a_later_document_win_key_by_key) {
    const auto result = read(
        {yaml("defaults: {keep_alive: 1s}\nlimits: {max_step: 5}\n"
              "pools: {a: {core_pool_size: 1, queue_capacity: 7}}",
              "first"),
         yaml("defaults: {rejection: discard}\npools: {a: {core_pool_size: 2}, b: {}}", "second")});
    EXPECT_EQ(
        result.pools.at("a").settings,
        (pool_settings{
            .core_pool_size = 2, .keep_alive = 1s, .queue_capacity = 7, .rejection = "discard"}));
    EXPECT_EQ(result.pools.at("a").file, "second");
    EXPECT_EQ(result.limits.max_step, 5);
    EXPECT_TRUE(result.pools.contains("b"));
}

TEST(configuration, lists_all_problems_with_file_line_key_and_rule) {
    const std::string problems = refusal({yaml(R"(pools:
  a:
    core_pol_size: 8
    maximum_pool_size: "8"
  b: {core_pool_size: -1, keep_alive: 60}
pulls: {}
)"),
                                          yaml("limits: {max_step: many}", "limits.yaml")});
    EXPECT_THAT(problems, HasSubstr("pools.yaml:3: pools.a.core_pol_size: is not a key here; "
                                    "core_pool_size is"));
    EXPECT_THAT(problems,
                HasSubstr("pools.yaml:4: pools.a.maximum_pool_size: must be a whole number, "
                          "and is \"8\""));
    EXPECT_THAT(problems,
                HasSubstr("pools.yaml:5: pools.b.core_pool_size: must be from 0 to 100000, "
                          "and is -1"));
    EXPECT_THAT(problems, HasSubstr("pools.yaml:5: pools.b.keep_alive: duration \"60\""));
    EXPECT_THAT(problems, HasSubstr("pools.yaml:6: pulls: is not a key here; pools is"));
    EXPECT_THAT(problems, HasSubstr("limits.yaml:1: limits.max_step: must be a whole number"));
}

TEST(configuration, tells_of_a_problem_in_one_line_whatever_the_key) {
    const auto problem = refusal("pools: {a: {\"\\e[2J\\nfile.yaml:1: b\": 1}}");
    EXPECT_THAT(problem, HasSubstr("pools.a.?[2J?file.yaml:1: b: is not a key here"));
    EXPECT_EQ(problem.find_first_of("\n\033"), std::string::npos);
    const auto json = [](const std::string& text) {
        return parse_document(text, "pools.json", document_format::json);
    };
    const std::string long_key(100'000, 'k');
    EXPECT_LT(refusal({json("{\"pools\": {\"a\": {\"" + long_key + "\": 1}}}")}).size(), 300U);
    const auto shared = read({json("{\"cadre\": {}, \"" + long_key + "\": {}}")});
    ASSERT_EQ(shared.ignored.size(), 1U);
    EXPECT_LT(to_text(shared.ignored[0]).size(), 300U);
}

TEST(configuration, refuses_values_that_cannot_be) {
    const auto value = [](const std::string& text) {
        return refusal("pools: {a: {" + text + "}}");
    };
    EXPECT_THAT(value("core_pool_size: 1e9"), HasSubstr("whole number"));
    EXPECT_THAT(value("core_pool_size: 1000000000"), HasSubstr("from 0 to 100000"));
    EXPECT_THAT(value("core_pool_size: 99999999999999999999"), HasSubstr("from 0 to 100000"));
    EXPECT_THAT(value("core_pool_size: .nan"), HasSubstr("whole number"));
    EXPECT_THAT(value("core_pool_size: 010"), HasSubstr("whole number"));
    EXPECT_THAT(value("core_pool_size: 1.5"), HasSubstr("whole number"));
    EXPECT_THAT(value("core_pool_size: [1]"), HasSubstr("and is a list"));
    EXPECT_THAT(value("core_pool_size: "), HasSubstr("and is nothing"));
    EXPECT_THAT(value("maximum_pool_size: 0"), HasSubstr("from 1 to"));
    EXPECT_THAT(value("queue_capacity: 0"), HasSubstr("from 1 to"));
    EXPECT_THAT(value("keep_alive: -1s"), HasSubstr("keep_alive"));
    EXPECT_THAT(value("allow_core_thread_time_out: yes"), HasSubstr("true or false"));
    EXPECT_THAT(value("rejection: ''"), HasSubstr("1 to 256"));
    EXPECT_THAT(value("kind: fast"), HasSubstr("common, eager"));
    EXPECT_THAT(value("core_pool_size: 3, maximum_pool_size: 2"),
                HasSubstr("pools.a.core_pool_size: 3 is above maximum_pool_size (2)"));
    EXPECT_THAT(value("keep_alive: 0, allow_core_thread_time_out: true"), HasSubstr("not zero"));
    EXPECT_THAT(refusal("pools: [a]"), HasSubstr("must be a map"));
    EXPECT_THAT(refusal("- pools"), HasSubstr("must be a map"));
    EXPECT_THAT(refusal("pools: {\"a\\tb\": {}}"), HasSubstr("control"));
    EXPECT_THAT(
        refusal({parse_document("[pools.a]\ncore_pool_size = nan", "x", document_format::toml)}),
        HasSubstr("x:2: pools.a.core_pool_size: must be a whole number, and is nan"));
}

TEST(configuration, checks_a_size_that_comes_from_the_defaults_where_that_is_written) {
    EXPECT_THAT(refusal("defaults:\n  core_pool_size: 9\npools:\n  a: {maximum_pool_size: 4}\n"),
                HasSubstr("pools.yaml:2: defaults.core_pool_size: 9 is above"));
}

TEST(configuration, keeps_the_limits) {
    EXPECT_THAT(refusal("limits: {max_threads_per_pool: 10}\npools: {a: {maximum_pool_size: 11}}"),
                HasSubstr("11 is above max_threads_per_pool (10)"));
    EXPECT_THAT(refusal("limits: {max_threads_per_process: 10}\n"
                        "pools: {a: {maximum_pool_size: 6}, b: {maximum_pool_size: 6}}"),
                HasSubstr("pools.b.maximum_pool_size: brings the pools together to 12 threads"));
    EXPECT_THAT(refusal("limits: {max_steps: 10}"), HasSubstr("max_step is"));
}

TEST(configuration, reads_overrides_for_others_too) {
    EXPECT_THAT(refusal("overrides: [{match: {host: x}, pools: {a: {core: 1}}}]"),
                HasSubstr("overrides[0].pools.a.core: is not a key"));
    EXPECT_THAT(refusal("overrides: [{pools: {}}]"), HasSubstr("has no match"));
    EXPECT_THAT(refusal("overrides: [{match: {}}]"), HasSubstr("would be for everybody"));
    EXPECT_THAT(refusal("overrides: [{match: {hosts: x}}]"), HasSubstr("host is"));
}

TEST(dynamictp_keys, are_read_as_java_reads_them) {
    const auto result = read(R"(
spring: {application: {name: shop}}
dynamictp:
  enabled: true
  platforms: [{platform: wechat}]
  globalExecutorProps: {rejected-handler-type: CallerRunsPolicy}
  executors:
    - threadPoolName: orders
      threadPoolAliasName: 订单
      executorType: eager
      corePoolSize: 6
      maximum-pool-size: 8
      queueCapacity: 2000
      queueType: SynchronousQueue
      keepAliveTime: 50
      unit: MILLISECONDS
      allowCoreThreadTimeOut: false
      threadNamePrefix: test
      runTimeout: 200
      queueTimeout: 100
      tryInterrupt: true
      preStartAllCoreThreads: true
      autoCreate: true
      notifyItems: [{type: capacity, threshold: 80, platformIds: [1]}]
)");
    const auto& orders = result.pools.at("orders");
    EXPECT_EQ(orders.settings, (pool_settings{6, 8, 50ms, false, 2000, "caller_runs", "test", true,
                                              200ms, 100ms, true}));
    EXPECT_EQ(orders.kind, "eager");
    EXPECT_EQ(orders.queue, "synchronous");
    EXPECT_TRUE(orders.auto_create);
    std::string ignored;
    for (const auto& i : result.ignored) ignored += to_text(i) + "\n";
    EXPECT_THAT(ignored, HasSubstr("pools.yaml:5: dynamictp.platforms: is DynamicTp's"));
    EXPECT_THAT(ignored, HasSubstr("dynamictp.executors[0].notifyItems[0].platformIds"));
    EXPECT_THAT(ignored, HasSubstr("dynamictp.executors[0].threadPoolAliasName"));
}

TEST(dynamictp_keys, are_read_from_properties_and_under_their_older_name) {
    const std::string text =
        "server.port=8080\nspring.dynamic.tp.executors[0].thread-pool-name=a\n"
        "spring.dynamic.tp.executors[0].core-pool-size=3\n";
    const auto result = read({parse_document(text, "x", document_format::properties)});
    EXPECT_EQ(result.pools.at("a").settings.core_pool_size, 3);
    ASSERT_EQ(result.ignored.size(), 1U);
    EXPECT_EQ(to_text(result.ignored[0]), "x:1: server: is not for cadre");
}

TEST(dynamictp_keys, may_be_those_of_older_releases) {
    const auto result =
        read("dynamictp: {collectorType: logging, executors: [{threadPoolName: a}]}");
    EXPECT_TRUE(result.pools.contains("a"));
    ASSERT_EQ(result.ignored.size(), 1U);
    EXPECT_EQ(result.ignored[0].key, "dynamictp.collectorType");
}

TEST(dynamictp_keys, have_values_that_spring_would_take) {
    const auto result = read(
        "dynamictp:\n"
        "  enabled: on\n"
        "  executors:\n"
        "    - {threadPoolName: a, corePoolSize: \"3\", keepAliveTime: \"5 \", unit: seconds,\n"
        "       tryInterrupt: \"Yes\", autoCreate: no}\n");
    const auto& a = result.pools.at("a");
    EXPECT_EQ(a.settings.core_pool_size, 3);
    EXPECT_EQ(a.settings.keep_alive, 5s);
    EXPECT_EQ(a.settings.interrupt_on_run_timeout, true);
    EXPECT_FALSE(a.auto_create);
    EXPECT_TRUE(read("dynamictp: {enabled: OFF, executors: [{threadPoolName: a}]}").pools.empty());
    const std::string text =
        "dynamictp.executors[0].threadPoolName=a\ndynamictp.executors[0].queueCapacity=7 \n";
    EXPECT_EQ(read({parse_document(text, "x", document_format::properties)})
                  .pools.at("a")
                  .settings.queue_capacity,
              7U);
    EXPECT_THAT(refusal("dynamictp: {executors: [{threadPoolName: a, autoCreate: perhaps}]}"),
                HasSubstr("true or false"));
    EXPECT_THAT(refusal("dynamictp: {executors: [{threadPoolName: a, corePoolSize: \"3x\"}]}"),
                HasSubstr("whole number"));
}

TEST(configuration, reads_our_keys_beside_dynamictps_in_properties_as_in_yaml) {
    const std::string text =
        "server.port=80\nserver=x\n"
        "dynamictp.executors[0].threadPoolName=a\ndynamictp.executors[0].queueCapacity=7\n"
        "pools.a.core_pool_size=2\npools[b.c].core_pool_size=3\n"
        "defaults.keep_alive=5s\nlimits.max_threads_per_pool=50\n"
        "overrides[0].match.host=*\noverrides[0].pools.a.core_pool_size=4\n";
    const auto result = read({parse_document(text, "x", document_format::properties)});
    EXPECT_EQ(result.pools.at("a").settings,
              (pool_settings{.core_pool_size = 4, .keep_alive = 5s, .queue_capacity = 7}));
    EXPECT_EQ(result.pools.at("b.c").settings.core_pool_size, 3);
    EXPECT_EQ(result.limits.max_threads_per_pool, 50);
    ASSERT_EQ(result.ignored.size(), 1U);
    EXPECT_EQ(to_text(result.ignored[0]), "x:1: server: is not for cadre");
    // Without pools they are other people's.
    const auto others = read({parse_document("dynamictp.enabled=true\nlimits.cpu=3\nlimits=2\n",
                                             "x", document_format::properties)});
    ASSERT_EQ(others.ignored.size(), 1U);
    EXPECT_EQ(others.ignored[0].key, "limits");
}

TEST(dynamictp_keys, are_told_of_when_a_queue_is_less_than_they_ask_for) {
    const auto result = read(
        "dynamictp: {executors: [{threadPoolName: p, queueType: MemorySafeLinkedBlockingQueue}, "
        "{threadPoolName: q, queueType: VariableLinkedBlockingQueue}]}");
    EXPECT_EQ(result.pools.at("p").queue, "linked");
    ASSERT_EQ(result.ignored.size(), 1u);
    EXPECT_EQ(result.ignored[0].key, "dynamictp.executors[0].queueType");
    EXPECT_THAT(result.ignored[0].rule, HasSubstr("does not look at free memory"));
}

TEST(dynamictp_keys, are_refused_when_they_are_wrong) {
    const auto entry = [](const std::string& text) {
        return refusal("dynamictp: {executors: [{" + text + "}]}");
    };
    EXPECT_THAT(entry("corePoolSize: 1"), HasSubstr("has no threadPoolName"));
    EXPECT_THAT(entry("threadPoolName: a, corePoolSze: 1"), HasSubstr("corePoolSize is"));
    EXPECT_THAT(entry("threadPoolName: a, corePoolSize: 1, core-pool-size: 2"), HasSubstr("twice"));
    EXPECT_THAT(entry("threadPoolName: a, unit: FORTNIGHTS"), HasSubstr("TimeUnit"));
    EXPECT_THAT(entry("threadPoolName: a, corePoolSize: 3, maximumPoolSize: 2"),
                HasSubstr("dynamictp.executors[0].corePoolSize: 3 is above"));
    EXPECT_THAT(entry("threadPoolName: a}, {threadPoolName: a"), HasSubstr("second entry"));
    EXPECT_THAT(entry("threadPoolName: a, keepAliveTime: 2147483647, unit: DAYS"),
                HasSubstr("292"));
    EXPECT_THAT(refusal("dynamictp: {executor: []}"), HasSubstr("executors is"));
}

TEST(dynamictp_keys, mean_nothing_when_switched_off) {
    EXPECT_TRUE(
        read("dynamictp: {enabled: false, executors: [{threadPoolName: a}]}").pools.empty());
}

TEST(configuration, lets_our_keys_win_over_dynamictps_in_one_document) {
    const auto result = read(
        "dynamictp: {executors: [{threadPoolName: a, corePoolSize: 1, maximumPoolSize: 5}]}\n"
        "cadre: {pools: {a: {core_pool_size: 2}}}");
    EXPECT_EQ(result.pools.at("a").settings.core_pool_size, 2);
    EXPECT_EQ(result.pools.at("a").settings.maximum_pool_size, 5);
}

TEST(configuration, reads_our_pools_beside_dynamictps_keys) {
    const auto result = read(
        "dynamictp: {executors: [{threadPoolName: a, corePoolSize: 2, queueCapacity: 7}]}\n"
        "server: {port: 80}\n"
        "pools: {a: {core_pool_size: 9}}\n");
    EXPECT_EQ(result.pools.at("a").settings,
              (pool_settings{.core_pool_size = 9, .queue_capacity = 7}));
    ASSERT_EQ(result.ignored.size(), 1U);
    EXPECT_EQ(result.ignored[0].key, "server");
    // Without pools they are other people's.
    EXPECT_EQ(read("dynamictp: {}\nlimits: {cpu: 3}\n").ignored.size(), 1U);
}

TEST(dynamictp_keys, take_the_unit_of_a_time_from_the_globals_where_the_executor_has_none) {
    const auto result = read(
        "dynamictp:\n"
        "  executors:\n"
        "    - {threadPoolName: a, keepAliveTime: 500}\n"
        "    - {threadPoolName: b, keepAliveTime: 2, unit: MINUTES}\n"
        "    - {threadPoolName: c, unit: SECONDS}\n"
        "    - {threadPoolName: d}\n"
        "  globalExecutorProps: {keepAliveTime: 3, unit: MILLISECONDS}\n");
    EXPECT_EQ(result.pools.at("a").settings.keep_alive, 500ms);
    EXPECT_EQ(result.pools.at("b").settings.keep_alive, 2min);
    EXPECT_EQ(result.pools.at("c").settings.keep_alive, 3s);
    EXPECT_EQ(result.pools.at("d").settings.keep_alive, 3ms);
}

TEST(dynamictp_keys, are_found_below_keys_with_dots) {
    for (const std::string key : {"spring.dynamic.tp: ", "spring:\n  dynamic.tp: "})
        EXPECT_EQ(read(key + "{executors: [{threadPoolName: a, corePoolSize: 2}]}\n")
                      .pools.at("a")
                      .settings.core_pool_size,
                  2);
}

TEST(dynamictp_keys, may_say_nothing_of_globals_and_name_types_that_nobody_knows) {
    const auto result = read(
        "dynamictp:\n  globalExecutorProps:\n"
        "  executors: [{threadPoolName: a, executorType: magic}]\n");
    EXPECT_EQ(result.pools.at("a").kind, "common");
    ASSERT_EQ(result.ignored.size(), 1U);
    EXPECT_THAT(to_text(result.ignored[0]), HasSubstr("executorType: magic is no type"));
}

TEST(configuration, may_be_told_its_host_by_the_environment) {
    const auto machine = instance_identity::of_this_process().host;
    ::setenv("CADRE_HOST", "web-7", 1);
    EXPECT_EQ(instance_identity::of_this_process().host, "web-7");
    ::unsetenv("CADRE_HOST");
    EXPECT_EQ(instance_identity::of_this_process().host, machine);
}

TEST(configuration, globs_stars_and_question_marks) {
    EXPECT_TRUE(matches_glob("*", ""));
    EXPECT_TRUE(matches_glob("web-*-*a", "web-1-x-aba"));
    EXPECT_TRUE(matches_glob("a?c", "abc"));
    EXPECT_FALSE(matches_glob("a?c", "ac"));
    EXPECT_FALSE(matches_glob("web-*", "aweb-1"));
    EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace cadre::manage
