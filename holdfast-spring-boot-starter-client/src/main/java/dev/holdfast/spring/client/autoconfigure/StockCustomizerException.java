package dev.holdfast.spring.client.autoconfigure;

/** The application changes Spring AI's transport, whose place Holdfast has taken: what it sets, perhaps credentials, would be missing. */
final class StockCustomizerException extends RuntimeException {
    StockCustomizerException() {
        super(
                "a bean of type McpClientCustomizer<HttpClientStreamableHttpTransport.Builder> would change nothing: that transport is not used");
    }
}
