package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityException;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityValidator;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** A server's own check of headers, by the type that every mcp-core 2.x has. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class HeaderCheckTest {
    private static final int INVALID_REQUEST = -32600;
    private static final int INTERNAL_ERROR = -32603;

    private final ContainerKind kind;

    HeaderCheckTest(ContainerKind kind) {
        this.kind = kind;
    }

    @SuppressWarnings("deprecation")
    private TestServer checking(ServerTransportSecurityValidator check) throws Exception {
        return TestServer.in(kind)
                .options(options -> options.securityValidator(check))
                .start();
    }

    private static RawRequest initialize() {
        return RawRequest.post(Json.initialize(RawSession.NEWEST));
    }

    @Test
    void aCheckSeesEveryHeaderWhateverItsCase() throws Exception {
        try (TestServer server = checking(headers -> {
            if (!headers.getOrDefault("x-pass", List.of()).contains("please")) {
                throw new ServerTransportSecurityException(403, "not today");
            }
        })) {
            Refusal refusal = Refusal.of(server.port(), initialize().with("X-Pass", "now"));

            refusal.assertIs(403, INVALID_REQUEST, "not today");
            assertThat(refusal.head().header("Cache-Control")).hasValue("no-store");
            try (RawConnection connection = RawConnection.open(server.port())) {
                RawRequest polite = initialize().with("X-Pass", "please");
                int status = connection
                        .write(polite.head(server.port()))
                        .write(polite.body())
                        .head()
                        .status();
                assertThat(status).isEqualTo(200);
            }
        }
    }

    @Test
    void aCheckThatFailsIsToldWithoutItsWords() throws Exception {
        try (TestServer server = checking(headers -> {
            throw new IllegalStateException("secret");
        })) {
            Refusal.of(server.port(), initialize()).assertIs(500, INTERNAL_ERROR, "internal error");
        }
    }

    @Test
    void theTransportIsABeanOnEveryVersion() {
        // what Spring asks of a bean's class resolves the types of all its methods
        assertThat(HoldfastTransportProvider.class.getDeclaredMethods()).isNotEmpty();
        assertThat(HoldfastTransportProvider.class.getDeclaredConstructors()).isNotEmpty();
        assertThat(HoldfastTransportProvider.class.getDeclaredFields()).isNotEmpty();
    }
}
