package dev.holdfast.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.gateway.text.GatewayException;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TokensTest {
    private static final String ONE = "0123456789abcdef";
    private static final String TWO = "fedcba9876543210";

    @Test
    void everyTokenIsKnownByItsPrincipal() {
        TokenFile.Tokens tokens = TokenFile.Tokens.parse(
                "tokens", "# who may ask\n\nalice " + ONE + "\r\n  alice\t" + TWO + "  \n#bob x\nbob " + ONE + TWO);

        assertThat(tokens.size()).isEqualTo(3);
        assertThat(tokens.principal(ONE)).contains("alice");
        assertThat(tokens.principal(TWO)).contains("alice");
        assertThat(tokens.principal(ONE + TWO)).contains("bob");
    }

    @Test
    void nothingElseIsKnown() {
        TokenFile.Tokens tokens = TokenFile.Tokens.parse("tokens", "alice " + ONE);

        for (String other :
                new String[] {"", "alice", ONE.substring(1), ONE + "0", ONE.toUpperCase(Locale.ROOT), "alice " + ONE}) {
            assertThat(tokens.principal(other)).as(other).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "alice                        | line 2: there must be a principal and a token, and nothing else",
                "alice secret-secret-secret x | line 2: there must be a principal and a token, and nothing else",
                "alice secret-secret-se       | ok",
                "alice secret-secret-s        | line 2: the token must have at least 16 characters",
                "alice secret-secret-\u00e9\u00e9\u00e9\u00e9 | line 2: the token must be of visible ASCII characters",
                "bob 0123456789abcdef         | line 2: the token is that of line 1",
            })
    void aLineThatIsWrongIsNamedAndNoTokenIs(String line, String fault) {
        String text = "alice " + ONE + "\n" + line + "\n";
        if (fault.equals("ok")) {
            assertThat(TokenFile.Tokens.parse("f", text).size()).isEqualTo(2);
            return;
        }
        assertThatThrownBy(() -> TokenFile.Tokens.parse("my/tokens", text))
                .isInstanceOf(GatewayException.class)
                .hasMessage("my/tokens, " + fault)
                .hasMessageNotContainingAny("secret", ONE);
    }

    @Test
    void aFileThatNamesNobodyIsRefused() {
        assertThatThrownBy(() -> TokenFile.Tokens.parse("tokens", "\n# nobody\n"))
                .isInstanceOf(GatewayException.class)
                .hasMessage("tokens: no line holds a principal and a token");
    }
}
