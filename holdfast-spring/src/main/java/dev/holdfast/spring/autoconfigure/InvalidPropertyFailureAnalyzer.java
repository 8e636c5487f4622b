package dev.holdfast.spring.autoconfigure;

import dev.holdfast.spring.properties.InvalidPropertyException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells which property stopped the start, its value, and which values it takes. */
final class InvalidPropertyFailureAnalyzer extends AbstractFailureAnalyzer<InvalidPropertyException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, InvalidPropertyException cause) {
        String description = String.format(
                "Holdfast does not take the value of a property:%n%n    Property: %s%n    Value: \"%s\"%n    Reason: %s",
                cause.property(), cause.value(), cause.reason());
        return new FailureAnalysis(description, cause.remedy(), cause);
    }
}
