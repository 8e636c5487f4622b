package dev.holdfast.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpSseOptionsTest {
    private static final int LONGEST = 1_024;

    @ParameterizedTest
    @ValueSource(strings = {"/a", "/", "a/", "a", "/a//"})
    void aPrefixOfAsMuchAsAHeaderMayHoldIsNone(String part) {
        String text = part.repeat(8_000 / part.length());

        assertThat(HttpSseOptions.prefix(text)).isFalse();
        assertThat(HttpSseOptions.prefix(text + "/b")).isFalse();
        assertThat(HttpSseOptions.prefix("/" + text)).isFalse();
    }

    @Test
    void aPrefixMayBeLong() {
        String longest = "/a".repeat(LONGEST / 2);

        assertThat(HttpSseOptions.prefix(longest)).isTrue();
        assertThat(HttpSseOptions.prefix(longest + "b")).isFalse();
    }

    @Test
    void aPathOfAnyLengthIsRefusedInWords() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HttpSseOptions.DEFAULT.withPaths("/a".repeat(10_000) + "/", "/message"))
                .withMessageContaining("path");
    }

    /** Clients take such a part away before they send a path. */
    @ParameterizedTest
    @ValueSource(strings = {"/..", "/.", "/../sse", "/a/../sse", "/a/./sse", "/sse/.."})
    void aPathThatClientsDoNotSendAsItIsWrittenIsNone(String path) {
        assertThat(HttpSseOptions.prefix(path)).isFalse();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HttpSseOptions.DEFAULT.withPaths(path, "/message"))
                .withMessageContaining("path");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/...", "/.well-known", "/a..b", "/..a/b."})
    void aPartMayHaveDots(String path) {
        assertThat(HttpSseOptions.prefix(path)).isTrue();
    }
}
