package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.server.transport.ServerTransportSecurityException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** A server's own check of headers, by the type that came with mcp-core 2.1.0. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class SdkHeaderCheckTest {
    private static final int INVALID_REQUEST = -32600;
    private static final int INTERNAL_ERROR = -32603;

    private final ContainerKind kind;

    SdkHeaderCheckTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Test
    void aRefusalByACheckOfTheServersOwnIsKeptByNoCache() throws Exception {
        try (TestServer checking = TestServer.in(kind)
                .options(options -> options.httpHeaderValidator(headers -> {
                    throw new ServerTransportSecurityException(403, "not today");
                }))
                .start()) {
            Refusal refusal = Refusal.of(checking.port(), RawRequest.post(Json.initialize(RawSession.NEWEST)));

            refusal.assertIs(403, INVALID_REQUEST, "not today");
            assertThat(refusal.head().header("Cache-Control")).hasValue("no-store");
        }
    }

    @Test
    void aCheckOfTheServersOwnThatFailsIsToldWithoutItsWords() throws Exception {
        try (TestServer checking = TestServer.in(kind)
                .options(options -> options.httpHeaderValidator(headers -> {
                    throw new IllegalStateException("secret");
                }))
                .start()) {
            Refusal.of(checking.port(), RawRequest.post(Json.initialize(RawSession.NEWEST)))
                    .assertIs(500, INTERNAL_ERROR, "internal error");
        }
    }
}
