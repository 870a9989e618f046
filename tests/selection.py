"""Which tests `make test-fast` leaves out, which `make test` leaves to `make test-long`, and why.

A line is the beginning of a test's id as pytest prints it: a folder, a file or a test. A test that
runs a compiled kernel without being listed fails (`conftest.py`); the other lists are by hand.

Of a test with many cases, `REPRESENTED` names those that stand for the others: every case that does
not begin so is left out. What `make test` leaves out is in `make test-long`, all of it.
"""

from __future__ import annotations

COMPILES = "compiles"
BROWSER = "browser"
SLOW = "slow"
LONG = "long"

LONGEST = (
    "report",
    "tests/cli/test_cli.py",
    "tests/simulation/test_engines.py",
    "tests/simulation/test_skipping.py",
    "tests/fleet/test_equality.py",
    "tests/benchmarks/test_loops.py",
    "page",
    "tests/studies/test_advice.py",
    "examples",
)
"""Groups of tests that take one worker ten seconds and more, the longest first (`conftest.py`)."""

LISTED: dict[str, tuple[str, ...]] = {
    # Runs a compiled kernel, in this process or in another one.
    COMPILES: (
        "tests/fleet/",
        "tests/website/test_notebooks.py::test_a_notebook_prints",
        "tests/website/test_site.py",
        "src/handful/plots/panels.py",  # its example simulates
        "tests/benchmarks/test_loops.py",
        "tests/benchmarks/test_peers.py::test_a_driver",
        "tests/benchmarks/test_proposers.py::test_the_kernel",
        "tests/cli/test_bench.py::test_it_writes",
        "tests/cli/test_bench.py::test_without_a_compiler",
        "tests/cli/test_cli.py",
        "tests/policies/test_air.py::test_the_engines",
        "tests/policies/test_cbt.py::test_the_engines",
        "tests/policies/test_hand.py::test_the_engines",
        "tests/policies/test_constant_space.py::test_the_engines",
        "tests/policies/test_constant_space.py::test_the_paper_s_policies",
        "tests/policies/test_contract.py::test_the_engines",
        "tests/testing/test_policies.py::test_a_policy_whose_kernel",
        "tests/policies/test_cover.py::test_the_engines",
        "tests/policies/test_cover.py::test_the_share_of_pulls",
        "tests/policies/test_forgetting.py::test_the_engines",
        "tests/policies/test_moss_plus.py::test_the_engines",
        "tests/policies/test_pekoz.py::test_more_looks",
        "tests/policies/test_pekoz.py::test_the_engines",
        "tests/policies/test_queued.py::test_the_engines",
        "tests/policies/test_race.py::test_one_good_arm",
        "tests/policies/test_race.py::test_the_luckiest",
        "tests/policies/test_restarting.py::test_the_engines",
        "tests/policies/test_runs.py::test_regret_of",
        "tests/policies/test_streaming.py::test_a_second_pass",
        "tests/policies/test_streaming.py::test_two_targets",
        "tests/policies/test_subsampled.py::test_the_engines",
        "tests/policies/test_tabulated.py::test_the_engines",
        "tests/policies/test_tabulated.py::test_the_regret",
        "tests/rules/test_monotonicity.py::test_a_monotone_rule",
        "tests/sweeps/test_cluster.py::test_a_cluster_of_local",
        "tests/sweeps/test_running.py::test_threads_may_compile",
        "tests/simulation/",
        "tests/studies/",
        "tests/test_contributing.py::test_a_rule",
        "tests/test_docs.py::test_a_page_does",
        "tests/test_readme.py::test_its_handful",
        "tests/test_readme.py::test_its_python",
    ),
    BROWSER: (
        "tests/website/test_site.py",
        "tests/client/test_javascript.py",
        "tests/client/test_service.py::test_the_module",
        "tests/service/test_page.py",
        "tests/studies/paper/test_report.py",
    ),
    # Compiles one more kernel, or draws many more numbers, for what a sister test checks with
    # another rule, policy or case.
    LONG: (
        "tests/policies/test_proposed.py::test_many_lives",
        "tests/website/test_notebooks.py::test_a_notebook_prints",
        "tests/website/test_site.py",  # builds it, and draws pictures
        "tests/service/test_unavailable.py::test_a_full_disk[file system",  # mounts one
        "tests/service/test_severed.py",  # waits for time limits
        "tests/simulation/test_skipping.py::test_large_settings[race-I1",
        "tests/policies/test_race.py::test_one_good_arm",
        "tests/policies/test_contract.py::test_the_engines_agree[qucb-m",
        "tests/benchmarks/test_peers.py::test_a_driver",
        "tests/benchmarks/test_loops.py::test_regret_is_one_that_so_many_pulls_can_have[2",
        "tests/service/test_page.py::test_a_bandit_is_created_watched_and_its_incumbent_w"
        "ithdrawn[390-dark",
        "tests/simulation/test_mistakes.py::test_a_score_that_is_nan_is_refused_in_every_engine[2-nan",
        "tests/simulation/test_limits.py::test_memory_for_more_arms_than_there_are_is_not"
        "_allocated[True-ts-m",
        "tests/simulation/test_limits.py::test_memory_for_more_arms_than_there_are_is_not"
        "_allocated[True-ucb-m",
        "tests/policies/test_cover.py::test_the_share_of_pulls",
        "tests/simulation/test_engines.py::test_they_are_with_endless_arms_too[I1-qmoss-m",
        "tests/simulation/test_churn.py::test_ranges_of_runs_and_shorter_runs_are_parts_of_the_whole"
        "[compiled",
        "tests/simulation/test_mistakes.py::test_a_number_outside_of_a_domain",
        "tests/simulation/test_record.py::test_a_policy_of_ones_own_runs_in_both_engines_to_the_same_"
        "bits[I4",
        "tests/simulation/test_skipping.py::test_large_settings[qts-m",
        "tests/simulation/test_traffic.py::test_race_with_room_for_all_arms_is_imed_in_traffic_too",
        "tests/simulation/test_record.py::test_race_with_room_for_all_arms_is_imed_in_engines",
        "tests/studies/paper/test_report.py::test_every_figure_is_drawn_with_all_of_its_panels",
        "tests/test_key_value.py::test_a_writer_that_is_killed",
        "tests/fleet/test_equality.py::test_long_lives",
        "tests/fleet/test_equality.py::test_policies_of_ones_own",
        "tests/fleet/test_files.py::test_two_hundred",
        "tests/fleet/test_example.py",
        "tests/fleet/test_shards.py::test_worker_processes",  # kills them
        "tests/test_docs.py::test_a_page_does_what_it_shows[sharded",  # two processes compile
        "tests/fleet/test_equality.py::test_members_live_as_single_policies_do[race",
        "tests/fleet/test_equality.py::test_members_live_as_single_policies_do[ts-m",
        "tests/service/test_page.py::test_a_bandit_is_created_watched_and_its_incumbent_w"
        "ithdrawn[1280-dark",
        "tests/service/test_page.py::test_a_bandit_is_created_watched_and_its_incumbent_w"
        "ithdrawn[390-light",
        "tests/service/test_page.py::test_a_policy_that_remembers_every_arm",
        "tests/service/test_page.py::test_more_bandits_than_a_page",
        "tests/service/test_page.py::test_the_list_shows_bandits_as_they_change_and_leads"
        "_to_them[390",
        "tests/test_docs.py::test_a_page_does_what_it_shows[own-rule",
        "tests/benchmarks/test_loops.py::test_a_loop_has_the_regret_of_handful[ucb-m-2-1.0-Numba",
        "tests/benchmarks/test_loops.py::test_a_wrong_constant_or_memory_would_be_seen[Numba",
        "tests/cli/test_cli.py::test_both_engines_print_the_same_numbers_on_a_tape[race",
        "tests/policies/test_contract.py::test_the_engines_agree[robbins",
        "tests/policies/test_contract.py::test_the_engines_agree[ucb-m",
        "tests/policies/test_forgetting.py::test_the_engines_make_the_same_choices[{}",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[cover",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[k-failure-True",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[mpse-True",
        "tests/policies/test_queued.py::test_the_engines_make_the_same_choices[linear:9+beta",
        "tests/policies/test_queued.py::test_the_engines_make_the_same_choices[linear:9-{}",
        "tests/policies/test_subsampled.py::test_the_engines_make_the_same_choices[{'drift'",
        "tests/simulation/test_churn.py::test_regret_is_against_the_best_arm_of_the_moment[True",
        "tests/simulation/test_churn.py::test_the_engines_make_the_same_choices[ucb-m",
        "tests/simulation/test_own_rules.py::test_ones_own_rule_does_so_when_all_arms_fit[NoisyM",
        "tests/simulation/test_record.py::test_race_with_room_for_all_arms_is_imed_in_eng"
        "ines[False-linear:7+beta",
        "tests/simulation/test_record.py::test_the_generic_kernel_of_some_policies_is_the"
        "_policy[qts-m",
        "tests/simulation/test_record.py::test_the_generic_kernel_of_some_policies_is_the"
        "_policy[random",
        "tests/simulation/test_skipping.py::test_large_settings[herschkorn",
        "tests/simulation/test_skipping.py::test_large_settings[kl-ucb-b",
        "tests/simulation/test_skipping.py::test_large_settings[nonrecalling-run",
        "tests/simulation/test_traffic.py::test_the_engines_make_the_same_choices[ucb-m-linear:9",
        "tests/studies/leaderboard/test_page.py::test_the_page_of_a_sheet[drift",
        "tests/studies/test_advice.py::test_the_best_mean_may_be_given[None-worlds2",
        "tests/policies/test_constant_space.py::test_the_engines_make_the_same_choices[Anytime",
        "tests/simulation/test_churn.py::test_with_room_for_all_arms_too",
        "tests/studies/test_advice.py::test_the_best_mean_may_be_given[2-worlds1",
        "tests/policies/test_cbt.py::test_the_engines_make_the_same_choices",
        "tests/policies/test_moss_plus.py::test_the_engines_make_the_same_choices",
        "tests/simulation/test_traffic.py::test_the_engines_make_the_same_choices[Peeking",
        "tests/cli/test_cli.py::test_policies_with_a_memory_of_their_own_need_none",
        "tests/simulation/test_own_rules.py::test_a_monotone_rule_may_look_at_a_budget_th"
        "at_is_the_time[3",
        "tests/simulation/test_record.py::test_a_policy_of_ones_own_runs_in_both_engines_"
        "to_the_same_bits[linear:9+beta",
        "tests/simulation/test_thompson.py::test_an_exponential_that_is_too_low_would_be_seen[0.3",
        "tests/simulation/test_contest.py::test_an_arm_is_picked_with_the_probability_tha"
        "t_its_draw_is_the_highest[5",
        "tests/simulation/test_mistakes.py::test_a_wrong_policy_ends_with_the_same_error_"
        "in_every_engine[free_slot",
        *(
            f"tests/simulation/test_limits.py::test_any_number_of_passes_is_run_alike[{passes}-mbse"
            for passes in (1, 62, 63, 64, 2000)
        ),
        "tests/simulation/test_churn.py::test_the_engines_make_the_same_choices[robbins",
        "tests/simulation/test_churn.py::test_the_engines_make_the_same_choices[ts",
        "tests/simulation/test_churn.py::test_the_engines_make_the_same_choices[mpse",
        "tests/simulation/test_churn.py::test_the_engines_make_the_same_choices[Peeking",
        "tests/policies/test_cbt.py::test_the_engines_make_the_same_choices[{'delay'",
        "tests/policies/test_moss_plus.py::test_the_engines_make_the_same_choices[{'delay'",
        "tests/policies/test_subsampled.py::test_the_engines_make_the_same_choices[{'delay'",
        "tests/policies/test_restarting.py::test_the_engines_make_the_same_choices[{'delay'",
        "tests/policies/test_forgetting.py::test_the_engines_make_the_same_choices[{'delay'",
        "tests/cli/test_bench.py::test_without_a_compiler",
        "tests/policies/test_constant_space.py::test_the_paper_s_policies_with_two_arms_h"
        "ave_far_less_regret[10",
        "tests/simulation/test_limits.py::test_kernels_take_the_largest_set_of_arms[power",
        "tests/simulation/test_limits.py::test_kernels_take_the_largest_set_of_arms[linea"
        "r:{}-single-pass",
        "tests/simulation/test_limits.py::test_kernels_take_the_largest_set_of_arms[linea"
        "r:{}-random",
        "tests/benchmarks/test_loops.py::test_a_loop_has_the_regret_of_handful[ucb1-10",
        "tests/policies/test_pekoz.py::test_the_engines_make_the_same_choices[I1-pekoz",
        "tests/policies/test_air.py::test_the_engines_make_the_same_choices[True-",
        "tests/policies/test_air.py::test_the_engines_make_the_same_choices[False-I1",
        "tests/policies/test_air.py::test_the_engines_make_the_same_choices[False-I2+beta",
        *(
            f"tests/policies/test_tabulated.py::test_the_engines_agree_however_long_the_run[{world}-{T}"
            "-sqrt-log"
            for world in ("I1", "I2", "I3", "I4+uniform")
            for T in (1, 2, 3, 4, 5, 100, 10000)
        ),
        "tests/simulation/test_engines.py::test_small_tables_and_large_ones_agree_past_both[moss-m",
        "tests/simulation/test_engines.py::test_results_do_not_depend_on_the_number_of_wo"
        "rkers[moss-m",
        "tests/simulation/test_monotone.py::test_the_choices_are_those_of_a_look_at_every"
        "_arm[qklucb-m",
        "tests/simulation/test_traffic.py::test_the_engines_make_the_same_choices[k-failure-I4",
        "tests/simulation/test_traffic.py::test_the_engines_make_the_same_choices[ts-m-linear:9",
        "tests/simulation/test_thompson.py::test_the_probability_that_is_stored_is_the_pr"
        "obability[2000-0.99",
        "tests/benchmarks/test_loops.py::test_a_loop_has_the_regret_of_handful[ucb-m-4",
        "tests/cli/test_bench.py::test_it_writes_data_and_a_figure",
        "tests/cli/test_cli.py::test_both_engines_print_the_same_numbers_on_a_tape[imed",
        "tests/cli/test_cli.py::test_both_engines_print_the_same_numbers_on_a_tape[qts-m",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[fixed-run",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[game-of-coins",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[herschkorn",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[mbse",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[nonrecalling-run",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[pekoz",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[single-pass",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[sqrt-log",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[sqrt-run",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[two-target",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[robbins",
        "tests/policies/test_hand.py::test_the_engines_make_the_same_choices[random",
        *(
            f"tests/policies/test_race.py::test_it_makes_the_choices_of_its_definition[Case({case}"
            for case in ("K=None, M=7", "K=8, M=7", "K=30, M=7", "K=30, M=8, scale=1.0")
        ),
        "tests/policies/test_race.py::test_the_luckiest",
        "tests/policies/test_runs.py::test_regret_of_the_nonrecalling_run",
        "tests/rules/test_monotonicity.py::test_a_monotone_rule_of_ones_own_is_skipped",
        "tests/simulation/test_cache.py::test_a_simulation_goes_on_where_files_cannot_grow",
        "tests/simulation/test_churn.py::test_every_policy_on_a_finite_set",
        "tests/simulation/test_contest.py::test_an_arm_is_picked_with_the_probability_that_its_draw_is"
        "_the_highest[1",
        "tests/simulation/test_contest.py::test_an_arm_is_picked_with_the_probability_that_its_draw_is"
        "_the_highest[2",
        "tests/simulation/test_contest.py::test_an_arm_is_picked_with_the_probability_that_its_draw_is"
        "_the_highest[3",
        "tests/simulation/test_engines.py::test_beyond_the_tables_no_bit_changes[2-linear:9+uniform",
        "tests/simulation/test_engines.py::test_beyond_the_tables_no_bit_changes[2-linear:9-moss",
        "tests/simulation/test_engines.py::test_beyond_the_tables_no_bit_changes[4-",
        "tests/simulation/test_engines.py::test_beyond_the_tables_no_bit_changes[9-",
        "tests/simulation/test_independent_program.py::test_moss_with_all_arms_for_those_in_memory",
        "tests/simulation/test_jit.py::test_a_kernel_of_a_user_s_is_cached_until_anything",
        "tests/simulation/test_limits.py::test_a_pool_that_grows_past_all_bounds_is_run_alike[qklucb",
        "tests/simulation/test_mistakes.py::test_a_division_by_zero_in_a_score_is_the_same_error_in_both_engines[i",
        "tests/simulation/test_mistakes.py::test_a_growth_that_is_odd_where_there_is_no_score",
        "tests/simulation/test_mistakes.py::test_a_score_that_is_nan_is_refused_in_every_engine[2-w",
        "tests/simulation/test_mistakes.py::test_a_score_that_is_nan_is_refused_where_few_arms",
        "tests/simulation/test_mistakes.py::test_infinite_scores_count_as_numbers_in_both_engines"
        "[infinite growth",
        "tests/simulation/test_monotone.py::test_caps_that_are_too_low_would_be_seen",
        "tests/simulation/test_monotone.py::test_the_choices_are_those_of_a_look_at_every_arm[kl-ucbpp",
        "tests/simulation/test_monotone.py::test_the_choices_are_those_of_a_look_at_every_arm[klucb",
        "tests/simulation/test_monotone.py::test_the_choices_are_those_of_a_look_at_every_arm[moss",
        "tests/simulation/test_monotone.py::test_the_choices_are_those_of_a_look_at_every_arm[ucb",
        "tests/simulation/test_own_rules.py::test_a_monotone_rule_may_look_at_a_budget_that_is_the_time[40",
        "tests/simulation/test_own_rules.py::test_a_policy_that_changes_more_than_the_rule_is_"
        "compiled_from_its_own_functions[p",
        "tests/simulation/test_own_rules.py::test_a_policy_that_changes_more_than_the_rule_is_"
        "compiled_from_its_own_functions[s",
        "tests/simulation/test_own_rules.py::test_ones_own_rule_is_compiled_again_when_its_module",
        "tests/simulation/test_own_rules.py::test_ones_own_rule_runs_in_both_engines_to_the_same_"
        "bits[linear:8+beta",
        "tests/simulation/test_own_rules.py::test_ones_own_rule_runs_in_both_engines_to_the_same_"
        "bits[linear:8-3",
        "tests/simulation/test_simulate.py::test_kernels_compiled_in_two_processes",
        "tests/simulation/test_skipping.py::test_a_wrong_bound_would_be_seen",
        "tests/simulation/test_skipping.py::test_an_arm_that_is_not_watched_can_have_the_highest_mean",
        "tests/simulation/test_skipping.py::test_large_settings[ucb-v",
        "tests/simulation/test_skipping.py::test_large_settings[ucbv",
        "tests/simulation/test_skipping.py::test_rewards_from_the_urn_have_the_same_distribution[i",
        "tests/simulation/test_thompson.py::test_an_arm_is_pulled_with_the_probability_that_its_draw_"
        "is_the_highest[1",
        "tests/simulation/test_thompson.py::test_an_arm_is_pulled_with_the_probability_that_its_draw_"
        "is_the_highest[2",
        "tests/simulation/test_thompson.py::test_an_arm_is_pulled_with_the_probability_that_its_draw_"
        "is_the_highest[3",
        "tests/core/test_shuffle.py::test_all_orders_of_a_few_arms_are_equally_likely[5",
        "tests/simulation/test_engines.py::test_they_are_with_endless_arms_too[I1-qrm2",
        "tests/simulation/test_engines.py::test_they_are_with_endless_arms_too[beta:1:1:1-qrm2",
        "tests/simulation/test_engines.py::test_they_are_with_endless_arms_too[beta:1:1:1-qmoss-m",
        "tests/test_packaging.py::test_the_tests_of_the_sdist",
        "tests/sweeps/test_cluster.py",  # starts and kills processes of Dask
        "tests/sweeps/test_examples.py",  # makes network namespaces
        "tests/service/test_hostile.py::test_long",
        "tests/service/test_machine.py::test_long",
        "tests/service/test_openapi.py::test_long",
        "tests/service/test_shared.py::test_long",
    ),
    # Takes more than some tenths of a second in plain Python.
    SLOW: (
        "tests/website/test_pages.py",
        "tests/policies/test_proposed.py::test_lives",
        "tests/test_proposer_examples.py::test_hyper_parameters",
        "tests/benchmarks/test_fleet.py::test_columns",
        "tests/benchmarks/test_saturation.py",
        "tests/adapters/test_missing.py",  # starts Python
        "tests/adapters/test_openfeature.py",  # starts a server
        "tests/adapters/test_optuna.py::test_a_study_goes_on",
        "tests/adapters/test_optuna.py::test_its_choices",
        "tests/adapters/test_optuna.py::test_processes",
        "tests/adapters/test_optuna.py::test_threads",
        "tests/adapters/test_page.py",  # starts a server
        "tests/adapters/test_streaming.py::test_bytewax",
        "tests/cli/test_data.py",
        "tests/cli/test_traffic.py::test_a_figure",
        "tests/client/test_sockets.py",
        "tests/policies/test_endless.py::test_they_find",
        "tests/policies/test_phased.py::test_moss_m_with_room",
        "tests/sweeps/test_running.py",
        "tests/sweeps/test_store.py",
        "tests/benchmarks/test_figure.py::test_the_panels",
        "tests/cli/test_bench.py::test_it_runs_from",
        "tests/cli/test_failing_output.py",
        "tests/cli/test_own_policy.py",
        "tests/cli/test_plot.py",
        "tests/cli/test_terminal.py::test_an_instance",
        "tests/client/test_clients.py::test_a_large_batch",
        "tests/client/test_clients.py::test_whatever_fails",
        "tests/client/test_page.py",
        "tests/client/test_service.py",
        "tests/core/test_divergence.py::test_the_upper_end",
        "tests/core/test_envelope.py::test_what_is_sealed",
        "tests/core/test_reservoir.py::TestViews",
        "tests/core/test_reservoir.py::test_a_label_waits",
        "tests/core/test_reservoir.py::test_labels_stay",
        "tests/core/test_reservoir.py::test_labels_that_are_released",
        "tests/core/test_shuffle.py::test_neighbours",
        "tests/core/test_tickets.py::test_no_stay",
        "tests/core/test_tickets.py::test_receipts",
        "tests/evaluation/test_checks.py::test_arms_without",
        "tests/evaluation/test_estimators.py::test_a_known_value",
        "tests/evaluation/test_estimators.py::test_a_wrong_probability",
        "tests/evaluation/test_replaying.py",
        "tests/fuzz/test_forged.py::test_any_input",
        "tests/plots/",
        "tests/policies/test_race_gap.py",
        "tests/policies/test_saved.py::test_forged_bytes",
        "tests/policies/test_schedule.py::test_challengers",
        "tests/rules/test_thompson.py::test_an_arm_is_chosen",
        "tests/service/test_guides.py",
        "tests/test_packaging.py::test_a_test_that_compiles",
        "tests/test_packaging.py::test_another_build",
        "tests/test_packaging.py::test_files_of_the_sdist",
        "tests/test_packaging.py::test_the_bench",
        "tests/test_packaging.py::test_the_sdist",
        "tests/test_packaging.py::test_the_wheel",
        "tests/test_public_face.py::test_replay_is",
        "tests/test_public_face.py::test_simulate_is",
        "tests/test_key_value.py",  # starts servers
        "tests/cli/test_stores.py::test_every_command",  # starts PostgreSQL
        "tests/service/test_copying.py",
        "tests/service/test_severed.py",
        "tests/service/test_shared.py",
        "tests/service/test_shared_kill.py",
        "tests/storage/test_golden.py::test_a_store_in_postgresql",
        "tests/storage/test_postgres.py",
        "tests/service/test_kill.py",  # kills servers
        "tests/service/test_torn.py",
        "tests/service/test_unavailable.py",
        "tests/core/test_reservoir.py::test_a_million",
        "tests/core/test_tickets.py::test_100_000",
        "tests/evaluation/test_open_bandit.py",  # pip downloads a file
        "tests/instances/test_additions.py",
        "tests/policies/test_calm.py",
        "tests/policies/test_streaming.py::test_they_make_the_choices",
        "tests/core/test_shuffle.py::test_all_orders",
        "tests/core/test_shuffle.py::test_any_number",
        "tests/core/test_shuffle.py::test_too_few_rounds",
        "tests/fuzz/test_forged.py::test_any_field",
        "tests/policies/test_air.py::test_it_makes_the_choices",
        "tests/policies/test_endless.py::test_saved_at_any_pull",
        "tests/policies/test_endless.py::test_the_memory_bound",
        "tests/policies/test_race.py::test_it_makes_the_choices",
        "tests/policies/test_race.py::test_its_definition",
        "tests/benchmarks/test_serve.py",
        "tests/benchmarks/test_shared_store.py",
        "tests/service/test_examples.py",
        "tests/test_contributing.py::test_a_table",
        "tests/test_contributing.py::test_an_added_policy",
        "tests/service/test_bandit.py",
        "tests/service/test_hostile.py",
        "tests/service/test_machine.py",
        "tests/service/test_openapi.py",
    ),
}


REPRESENTED: dict[str, dict[str, tuple[str, ...]]] = {
    LONG: {
        "tests/core/test_tickets.py::test_100_000": ("race",),
        "tests/fuzz/test_forged.py::test_any_field_at_an_edge": (
            "constant-space-True", "game-of-coins-True", "mbse-True", "race-True", "robbins-True",
            "sliding-window-ts", "ucb-m-True", "ucb1-True",
        ),
        "tests/policies/test_calm.py::test_calm_pulls": (
            "k-failure", "mpse", "pekoz-a", "proven-race",
        ),
        "tests/policies/test_endless.py::test_the_memory_bound": ("qucb-m", "qts-m"),
        # `restored_goes_on` in tests/policies/test_contract.py shows it of every policy.
        "tests/policies/test_endless.py::test_saved_at_any_pull": (
            "imed", "qucb-m", "race", "random", "ucb-air",
        ),
        "tests/policies/test_saved.py::test_forged_bytes": (
            "plain-before", "plain-selected-race", "rescaled-before-ucb-m",
        ),
        "tests/policies/test_race.py::test_its_definition_would": ("evidence", "fall"),
        "tests/policies/test_forgetting.py::test_the_engines": ("{'drift': 'walk:0.02'}-slid",),
        "tests/policies/test_tabulated.py::test_the_regret": ("I4-sqrt-run",),
        "tests/service/test_machine.py::test_a_mistake": (
            "duplicates_count", "rollback_is_forgotten", "windows_never_end",
        ),
        "tests/service/test_openapi.py::test_answers_keep": ("all",),
        "tests/simulation/test_engines.py::test_results_do_not": ("ucb-m",),
        "tests/simulation/test_own_rules.py::test_ones_own_rule_runs": ("linear:8-2-BonusM",),
        "tests/simulation/test_record.py::test_the_generic_kernel": ("race-finite",),
        "tests/simulation/test_skipping.py::test_small_settings": (
            "imed-m", "k-failure", "moss-m", "race", "ts-m", "ucb-m", "ucb1",
        ),
        "tests/studies/leaderboard/test_page.py::test_the_page_in_a_browser": ("390",),
    },
    SLOW: {
        "tests/core/test_rng.py::test_beta_numbers_follow": ("0.", "1", "2.0-3.0"),
        "tests/fuzz/test_forged.py::test_a_forged_size": ("race", "ts", "ucb"),
        "tests/instances/test_distributions.py::test_beta_rewards_that_crowd": ("0.01-", "4.0-"),
        "tests/policies/test_constant_space.py::test_it_makes": ("0-",),
        "tests/policies/test_contract.py::test_the_contract": tuple(
            f"<check {check}" for check in (
                "allowed_arms", "changing_arms", "clock", "clone", "default", "labels", "late",
                "many", "memory_bound of r", "memory_bound of u", "missing", "new_arms", "no_delay",
                "recommend", "refused", "rescale", "reset", "restored_goes_on of r",
                "restored_goes_on of u", "rewards_of_other_arms of r", "rewards_of_other_arms of u",
                "same_seed", "select", "size", "stats", "tickets of r", "tickets of u",
            )
        ),
        "tests/policies/test_hand.py::test_forged_bytes": ("k-failure",),
        "tests/policies/test_hand.py::test_saved_at_any_pull": ("k-failure", "mpse"),
        "tests/policies/test_threads.py::test_every_reward": ("race", "ucb"),
        "tests/policies/test_traffic.py::test_a_mistake": ("single-pass", "ucb-m-one"),
        "tests/policies/test_checks.py::test_a_reset_policy": ("race", "ucb-m"),
        "tests/policies/test_checks.py::test_labels_of_any_kind": ("race", "ucb-m"),
        "tests/policies/test_checks.py::test_select_gives_back": ("race", "ucb-m"),
        "tests/policies/test_checks.py::test_the_memory_bound": ("race", "ucb-m"),
        "tests/policies/test_phased.py::test_arms_that_all_fit": ("ucb-m",),
        "tests/policies/test_phased.py::test_every_phase_of_any_size": ("ucb-m",),
        "tests/policies/test_phased.py::test_never_more": ("ucb-m",),
        "tests/policies/test_phased.py::test_the_challengers": ("ucb-m",),
        "tests/policies/test_phased.py::test_the_horizon_is": ("ucb-m",),
        "tests/policies/test_phased.py::test_the_most_played": ("ucb-m",),
        "tests/policies/test_rewards.py::test_a_refused_reward": ("race", "ucb-m"),
        "tests/policies/test_rewards.py::test_a_stranger": ("race", "ucb-m"),
        "tests/policies/test_saved.py::test_a_restored_policy": ("race", "ucb-m"),
        "tests/policies/test_saved.py::test_the_state_stays": ("race", "ucb-m"),
        "tests/policies/test_stats.py::test_a_notebook_gets": ("race", "ucb-m"),
        "tests/policies/test_stats.py::test_repr_is": ("race", "ucb-m"),
        "tests/policies/test_traffic.py::test_any_traffic": ("mbse", "race", "ucb-m"),
    },
}  # fmt: skip
"""Cases that stand for all others of a test, which are marked."""


def markers(nodeid: str) -> list[str]:
    """Return the markers of a test by its id."""
    case = nodeid.partition("[")[2]
    found = {name for name, starts in LISTED.items() if nodeid.startswith(starts)}
    for name, represented in REPRESENTED.items():
        for start, kept in represented.items():
            if case and nodeid.startswith(start) and not case.startswith(kept):
                found.add(name)
    return [name for name in LISTED if name in found]
