package dev.holdfast.micrometer;

import dev.holdfast.CallWatch;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.micrometer.McpCallContext.Outcome;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import io.micrometer.observation.Observation;

/** One request under observation. */
record ObservedCall(Observation observation, McpCallContext context) implements CallWatch {
    private static final String TOOL = "tools/call";

    /** Why an observation has failed, without a trace: nothing was thrown. */
    private static final class McpCallFailure extends RuntimeException {
        private McpCallFailure(String message) {
            super(message, null, false, false);
        }
    }

    @Override
    public Scope enter() {
        Observation.Scope scope = observation.openScope();
        return scope::close;
    }

    @Override
    public void attached(Attachment how) {
        event(Tags.of(how));
    }

    @Override
    public void detached() {
        event("detached");
    }

    private void event(String name) {
        observation.event(Observation.Event.of("stream." + name, "mcp.stream." + name));
    }

    @Override
    public void answered(OutboundMessage answer) {
        if (answer.kind() == EventKind.ERROR) {
            AnswerFacts facts = AnswerFacts.ofError(answer.bytes());
            fail(facts, facts.message().orElse("error"));
        } else if (context.method().equals(TOOL)) {
            AnswerFacts facts = AnswerFacts.ofToolResult(answer.bytes());
            if (facts.toolError()) {
                fail(facts, "the tool has failed");
            } else {
                stop(Outcome.OK, facts);
            }
        } else {
            stop(Outcome.OK, AnswerFacts.done());
        }
    }

    private void fail(AnswerFacts facts, String message) {
        observation.error(new McpCallFailure(message));
        stop(Outcome.ERROR, facts);
    }

    @Override
    public void cancelled() {
        stop(Outcome.CANCELLED, AnswerFacts.done());
    }

    @Override
    public void lost() {
        observation.error(new McpCallFailure("the session has ended"));
        stop(Outcome.LOST, AnswerFacts.done());
    }

    private void stop(Outcome outcome, AnswerFacts facts) {
        context.over(outcome, facts);
        observation.stop();
    }
}
