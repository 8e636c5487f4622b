package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.SessionState;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every code is explained. */
class CodesTest {
    private static final String OPERATIONS = Page.at("docs/operations.md").text();

    @ParameterizedTest
    @EnumSource
    void everyEndIsExplained(EndReason reason) {
        assertThat(OPERATIONS).contains("| `" + reason + "` | " + reason.code() + " | ");
    }

    @ParameterizedTest
    @EnumSource
    void everyRefusalIsExplained(Refusal refusal) {
        assertThat(OPERATIONS).contains("| `" + refusal + "` | " + refusal.code() + " | ");
    }

    @ParameterizedTest
    @EnumSource
    void everyStateIsExplained(SessionState state) {
        assertThat(Page.at("docs/sessions.md").text()).contains("| `" + state + "` | ");
    }
}
