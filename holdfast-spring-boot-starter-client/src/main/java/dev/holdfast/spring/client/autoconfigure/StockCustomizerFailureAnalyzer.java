package dev.holdfast.spring.client.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells what to do with a customizer of the transport that is not used. */
final class StockCustomizerFailureAnalyzer extends AbstractFailureAnalyzer<StockCustomizerException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, StockCustomizerException cause) {
        return new FailureAnalysis(
                "Holdfast has taken the place of Spring AI's transport for MCP clients: " + cause.getMessage() + ".",
                "Make it a McpClientCustomizer<HoldfastClientTransport.Builder>, which has the same methods, or set"
                        + " holdfast.client.enabled=false.",
                cause);
    }
}
