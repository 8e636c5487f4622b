package dev.holdfast.spring.autoconfigure;

import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Whether there is a place for Holdfast: a transport it replaces, or a server of the plain SDK that needs one. */
final class OnReplaceableTransport extends SpringBootCondition {
    @Override
    public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
        ConditionMessage.Builder message = ConditionMessage.forCondition("Holdfast");
        return switch (StockTransport.of(context.getEnvironment(), context.getClassLoader())) {
            case NONE -> ConditionOutcome.match(message.because("there is no MCP server of Spring AI"));
            case REPLACED -> ConditionOutcome.match(message.because("it takes the place of Spring AI's transport"));
            case KEPT ->
                ConditionOutcome.noMatch(
                        message.because(StockTransport.choice(context.getEnvironment(), context.getClassLoader())
                                .map(property -> property + " is false")
                                .or(() -> StockTransport.obstacle(context.getEnvironment(), context.getClassLoader()))
                                .orElse("")));
        };
    }
}
