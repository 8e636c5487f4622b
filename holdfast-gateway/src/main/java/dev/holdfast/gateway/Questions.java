package dev.holdfast.gateway;

import dev.holdfast.servlet.JsonRpc;
import dev.holdfast.spi.RequestId;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The requests of one child to the client, under ids that no other child of the session ever uses: each child counts from its
 * own beginning, and an answer that comes late must not reach the wrong one. Safe for use by any thread.
 */
final class Questions {
    private static final Logger log = LoggerFactory.getLogger(Questions.class);
    private static final int MOST = 1024;

    private final String incarnation;
    private final LineBudget budget;
    private final Map<RequestId, Question> open = new LinkedHashMap<>(0);
    private long count;

    /**
     * A request without an answer.
     *
     * @param ours the id by which the client knows it
     * @param theirs the child's id
     * @param spelling the child's id, exactly as the child wrote it
     * @param carrier where it was sent
     */
    record Question(RequestId ours, RequestId theirs, RequestId spelling, Carrier carrier) {}

    Questions(String incarnation, LineBudget budget) {
        this.incarnation = incarnation;
        this.budget = budget;
    }

    /** Gives a request the id by which the client gets to know it. */
    synchronized RequestId ask(RequestId theirs, RequestId spelling, Carrier carrier) {
        if (open.size() == MOST) {
            Iterator<Question> questions = open.values().iterator();
            RequestId eldest = questions.next().ours;
            questions.remove();
            if (budget.take()) {
                log.warn("{} requests to a client are unanswered; the eldest is given up: {}", MOST, eldest);
            }
        }
        RequestId ours = JsonRpc.stringId(incarnation + "-" + ++count);
        open.put(ours, new Question(ours, theirs, spelling, carrier));
        return ours;
    }

    /** Takes the question that has an answer now. */
    synchronized Optional<Question> answered(RequestId ours) {
        return Optional.ofNullable(open.remove(ours));
    }

    /** Takes the question that the child gives up. */
    synchronized Optional<Question> withdrawn(RequestId theirs) {
        Optional<Question> found = open.values().stream()
                .filter(question -> question.theirs.equals(theirs))
                .findFirst();
        found.ifPresent(question -> open.remove(question.ours));
        return found;
    }
}
