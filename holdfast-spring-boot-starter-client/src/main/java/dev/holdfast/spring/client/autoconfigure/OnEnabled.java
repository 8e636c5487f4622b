package dev.holdfast.spring.client.autoconfigure;

import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Whether Holdfast comes where {@link StockClientTransport} has left Spring AI's transports out. */
final class OnEnabled extends SpringBootCondition {
    @Override
    public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
        boolean enabled = StockClientTransport.replacedIn(context.getEnvironment());
        return new ConditionOutcome(
                enabled, ConditionMessage.forCondition("Holdfast").because("holdfast.client.enabled is " + enabled));
    }
}
