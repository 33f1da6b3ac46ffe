"""What users of rival tools lost, by the numbers of the owner's list, and the tests that hold it
here.

Every row names at least one test; this one checks that they exist. Rows 28 (Windows) and 81 to 84
(maintenance by a model) are of parts that this product does not have yet.
"""

from __future__ import annotations

import re
from pathlib import Path

ROWS = {
    1: (
        "test_five_searches_watch_index_and_edit_at_once "
        "test_an_answer_in_a_sandbox_does_not_wait_for_a_service_that_cannot_start"
    ),
    2: "test_a_server_that_is_not_there_is_named test_ten_launched_at_once_are_one",
    3: "test_a_catalog_of_another_layout_is_set_aside_and_said test_vectors_of_random_bytes",
    4: "test_a_home_with_milvus_lite_goes_on_without_it",
    5: "test_patience_ends",
    6: "test_an_empty_collection_and_none test_an_empty_corpus",
    7: "test_more_than_a_batch test_batches_by_count test_batches_by_size",
    8: (
        "test_another_dimension_replaces_the_collection "
        "test_an_answer_of_another_dimension_is_refused test_fingerprints_distinguish_indexes"
    ),
    9: (
        "test_it_is_made_from_the_package_and_finds_by_meaning "
        "test_going_back_to_an_earlier_model_on_a_server"
    ),
    10: (
        "test_an_unreadable_folder_is_not_taken_for_deleted "
        "test_a_folder_that_fails_halfway_through_its_listing "
        "test_a_root_that_is_not_mounted_is_not_taken_for_deleted"
    ),
    11: "test_a_file_that_cannot_be_read_keeps_what_was_known test_odd_things_in_a_folder",
    12: (
        "test_a_memory_folder_that_was_removed_and_made_again_is_watched "
        "test_one_damaged_database_stops_nothing_else_and_is_named"
    ),
    13: "test_five_searches_watch_index_and_edit_at_once",
    14: "test_first_index_says_what_it_did test_caches_deleted_while_the_service_is_down",
    15: "test_kill_right_after_an_edit_loses_nothing",
    16: "test_an_atomic_save_and_a_rename_are_seen",
    17: "test_a_refused_batch_is_halved test_a_text_over_the_request_limit_goes_alone",
    18: "test_shape_of_a_request",
    19: "test_it_is_made_from_the_package_and_finds_by_meaning",
    20: "test_no_wait_never_starts_a_service",
    21: (
        "test_nothing_is_written_outside_and_nothing_is_looked_up "
        "test_without_the_extra_the_next_step_is_named"
    ),
    22: "test_search_rrf_and_explain test_why_not_json",
    23: "test_filter_values_cannot_leave_their_quotes",
    24: "test_moves_and_renames_embed_nothing_a_line_embeds_one",
    25: "test_days_show_stats_status_project_version_json",
    26: "test_service_status_health_index_doctor_models_config_json",
    27: "test_extra_paths_are_kept_and_ignore_files_obeyed",
    29: "test_spans_cover_the_text_and_respect_the_limit test_any_text_and_any_limit",
    30: "test_addresses_stay_whole_where_they_fit test_code_fences_stay_whole_where_they_fit",
    31: "test_front_matter_preamble_crlf_and_bytes_that_are_no_utf8",
    32: "test_paths_that_are_not_ascii test_a_query_of_invalid_utf8_is_answered",
    33: "test_edit_and_delete_touch_one_entry_and_undo_brings_every_byte_back",
    34: "test_what_is_embedded_has_no_comment_and_no_time",
    35: "test_paths_that_are_not_ascii test_odd_files_in_the_memory_folder",
    36: "test_the_hook_never_fails_and_never_waits",
    37: "test_it_is_detached_from_who_started_it test_every_turn_of_a_session_is_one_right_entry",
    38: "test_a_new_session_gets_context_that_is_not_captured_again",
    39: "test_the_hooks_call_our_command_and_nothing_else",
    40: "test_the_hooks_call_our_command_and_nothing_else",
    41: "test_a_sample_gives_the_turns_that_are_in_it test_no_shape_of_line_is_fatal",
    42: "test_one_turn_from_the_hook_to_undo",
    43: "test_append_is_idempotent_and_headings_follow_interleaved_sessions",
    44: "test_trivial_turns test_a_sub_agents_stop_and_a_disabled_hook_leave_nothing",
    45: "test_append_is_idempotent_and_headings_follow_interleaved_sessions",
    46: (
        "test_a_full_disk_leaves_the_file_as_it_was "
        "test_killed_at_every_step_nothing_is_lost_or_doubled"
    ),
    47: "test_the_real_command_lines_summarise_and_leave_no_trace",
    48: "test_a_command_line_is_asked_without_tools_or_hooks",
    49: "test_a_command_line_is_asked_without_tools_or_hooks",
    50: "test_limits_and_nonsense_are_tried_again_and_then_the_extractive_note_stays",
    51: (
        "test_limits_and_nonsense_are_tried_again_and_then_the_extractive_note_stays "
        "test_secrets_never_reach_the_disk"
    ),
    52: "test_a_later_try_succeeds",
    53: "test_the_day_has_a_cap_and_a_turn_has_one test_a_huge_payload_leaves_a_small_event",
    54: "test_every_sample_has_expectations test_every_turn_of_a_session_is_one_right_entry",
    55: (
        "test_installing_and_taking_out_leaves_every_byte_as_it_was "
        "test_what_the_user_changed_meanwhile_stays"
    ),
    56: "test_a_new_session_gets_context_that_is_not_captured_again",
    57: "test_installing_and_taking_out_leaves_every_byte_as_it_was",
    58: (
        "test_every_turn_of_a_session_is_one_right_entry "
        "test_a_turn_whose_answer_comes_later_is_seen_whole"
    ),
    59: "test_every_turn_of_a_session_is_one_right_entry",
    60: "test_what_is_no_summary_is_refused",
    61: (
        "test_a_summary_takes_the_place_of_the_extractive_note "
        "test_what_is_sent_and_what_comes_back_is_clean"
    ),
    62: "test_no_key_no_header_and_a_key_from_the_environment",
    63: "test_sigterm_leaves_no_process_and_no_socket test_ten_commands_at_once_start_one_service",
    64: "test_home_vanishes_and_the_service_ends_without_making_it_again",
    65: "test_idle_exit_and_not_while_a_client_is_attached",
    66: "test_capture_waits_while_the_settings_cannot_be_read",
    67: "test_every_folder_of_a_repository_has_one_memory",
    68: "test_every_folder_of_a_repository_has_one_memory test_an_empty_project_answers_everything",
    69: "test_memsearch_dir_decides_for_everybody",
    70: "test_two_sessions_at_once_and_the_other_agent_finds_it",
    71: "test_the_same_note_in_two_projects_is_each_projects_own",
    72: "test_a_rename_or_a_clone_is_the_same_project test_two_folders_of_one_name_share_nothing",
    73: "test_a_worktree_shares_the_memory_and_does_not_take_it_away",
    74: "test_odd_files_in_the_memory_folder",
    75: "test_a_projects_file_may_not_set_what_could_harm",
    76: "test_a_projects_file_may_not_set_what_could_harm",
    77: "test_a_command_line_is_asked_without_tools_or_hooks",
    78: (
        "test_nothing_is_written_outside_and_nothing_is_looked_up "
        "test_one_turn_of_a_million_lines_is_opened_without_reading_them_again"
    ),
    79: (
        "test_a_secret_does_not_survive "
        "test_secrets_of_old_sessions_reach_neither_notes_nor_evidence"
    ),
    80: "test_hostile_model_text_forges_nothing test_an_id_that_is_none_stands_in_no_anchor",
}


def test_every_row_has_a_test():
    there = set()
    for file in Path(__file__).parent.rglob("test_*.py"):
        there |= set(re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M))
    missing = {row: set(names.split()) - there for row, names in ROWS.items()}
    assert {row: names for row, names in missing.items() if names} == {}
    assert set(ROWS) == set(range(1, 81)) - {28}
