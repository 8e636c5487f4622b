package dev.holdfast.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class SpanTest {
    @Test
    void noneIsNotPresentAndAnEmptyRangeIs() {
        assertThat(Span.NONE.present()).isFalse();
        assertThat(new Span(0, 0).present()).isTrue();
    }

    @Test
    void aSpanThatEndsBeforeItBeginsIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new Span(2, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> new Span(-2, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> new Span(-1, 1));
    }

    @Test
    void anotherOriginMovesASpanButNotNone() {
        assertThat(new Span(5, 7).relativeTo(5)).isEqualTo(new Span(0, 2));
        assertThat(Span.NONE.relativeTo(5)).isSameAs(Span.NONE);
    }
}
