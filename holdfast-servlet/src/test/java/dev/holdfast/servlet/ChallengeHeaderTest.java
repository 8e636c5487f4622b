package dev.holdfast.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nothing that could break a header gets into one; each refused value is named. */
class ChallengeHeaderTest {
    private static final URI METADATA = URI.create("https://mcp.example.com/.well-known/oauth-protected-resource");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "files:read files:write",
                "a\tb",
                "a\"b",
                "a\\b",
                "a\r\nSet-Cookie: b=c",
                "a\n",
                "a\u007f",
                "\u0000",
                "\u00e9",
                "a\ud83d\ude00"
            })
    void aScopeIsOneTokenOfRfc6749(String scope) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Challenge.of(METADATA, "files:read", scope))
                .withMessageStartingWith("a scope must be ")
                .withMessageEndingWith(", got \"" + scope.replaceAll("[^\\x20-\\x7e]", "?") + '"');
    }

    @ParameterizedTest
    @ValueSource(strings = {"files:read", "https://www.example.com/auth/files?a=b#c", "!", "#[]~'(),;", "a=b"})
    void whateverRfc6749TakesIsAScope(String scope) {
        assertThat(Challenge.of(METADATA, scope).header("", ""))
                .isEqualTo("Bearer scope=\"" + scope + "\", resource_metadata=\"" + METADATA + '"');
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "mcp.example.com",
                "/.well-known/oauth-protected-resource",
                "//mcp.example.com/a",
                "https:/a",
                "https:///a",
                "https://?a",
                "https://:8080/a",
                "https:a",
                "ftp://mcp.example.com/a",
                "urn:a:b",
                "javascript:alert(1)",
                "https://mcp.example.com/a#b",
                "https://mcp.example.com/\u00e9",
                "https://m\u00e9p.example.com/"
            })
    void theMetadataIsAtAnAbsoluteUrl(String url) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Challenge.of(URI.create(url)))
                .withMessageStartingWith("resourceMetadata must be ")
                .withMessageEndingWith(", got \"" + url.replaceAll("[^\\x20-\\x7e]", "?") + '"');
    }

    @ParameterizedTest
    @ValueSource(strings = {"https://user:secret@mcp.example.com/a", "https://secret@my_host/a"})
    void theMetadataIsPublic(String url) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Challenge.of(URI.create(url)))
                .withMessage("resourceMetadata must be a URL without credentials");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://localhost:8080/.well-known/oauth-protected-resource",
                "HTTPS://mcp.example.com",
                "https://[::1]:8443/a?b=c,d",
                "http://my_host/a"
            })
    void anyUrlOfHttpWillDo(String url) {
        assertThat(Challenge.of(URI.create(url)).header("invalid_token", ""))
                .isEqualTo("Bearer error=\"invalid_token\", resource_metadata=\"" + url + '"');
    }

    @Test
    void whatAUrlMayNotHaveIsEscapedByItsClass() throws URISyntaxException {
        URI url = new URI("https", "mcp.example.com", "/a\"b\\c\r\nd e", null);

        assertThat(Challenge.of(url).header("", ""))
                .isEqualTo("Bearer resource_metadata=\"https://mcp.example.com/a%22b%5Cc%0D%0Ad%20e\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\"b", "a\\b", "a\r\nb", "a\tb", "caf\u00e9", "\u007f"})
    void aDescriptionIsPrintable(String description) {
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> new Authenticator.InsufficientScope(Challenge.of(METADATA, "files:read"), description))
                .withMessageStartingWith("a description must be ")
                .withMessageEndingWith(", got \"" + description.replaceAll("[^\\x20-\\x7e]", "?") + '"');
    }

    @Test
    void whoLacksAScopeIsToldOfOne() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Authenticator.InsufficientScope(Challenge.of(METADATA)))
                .withMessageContaining("scope");
    }

    @Test
    void aChallengeHasRoomInAHead() {
        String scope = "s".repeat(2_048 - METADATA.toString().length());

        assertThat(Challenge.of(METADATA, scope).header("", "")).contains(scope);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Challenge.of(METADATA, scope, "t"))
                .withMessage("resourceMetadata and scopes must be up to 2048 characters together, got 2050");
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        new Authenticator.InsufficientScope(Challenge.of(METADATA, "files:read"), "d".repeat(513)))
                .withMessageContaining("512");
    }

    @Test
    void nothingIsAskedForUnlessGiven() {
        assertThat(new Authenticator.Stranger().challenge()).isEqualTo(Challenge.NONE);
        assertThat(new Authenticator.WrongToken().challenge()).isEqualTo(Challenge.NONE);
        assertThat(Challenge.NONE.header("", "")).isEqualTo("Bearer");
        assertThat(Challenge.NONE.header("invalid_token", "")).isEqualTo("Bearer error=\"invalid_token\"");
    }

    @Test
    void itsScopesStayAsTheyWereGiven() {
        List<String> scopes = new ArrayList<>(List.of("b", "a"));
        Challenge challenge = new Challenge(Optional.empty(), scopes);
        scopes.add("c");

        assertThat(challenge.scopes()).containsExactly("b", "a");
    }
}
