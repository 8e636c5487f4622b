package dev.holdfast.mcp;

import io.modelcontextprotocol.server.transport.ServerHttpHeaderValidator;
import java.util.Objects;

/** The check of headers that came with mcp-core 2.1.0. Loaded when somebody gives one, so that older versions do without its types. */
final class SdkHeaderCheck {
    private SdkHeaderCheck() {}

    static HeaderCheck by(ServerHttpHeaderValidator validator) {
        Objects.requireNonNull(validator, "httpHeaderValidator");
        return new HeaderCheck(request -> validator.validate(new ServletHeaders(request)));
    }
}
