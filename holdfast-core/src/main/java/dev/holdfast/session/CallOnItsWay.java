package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.Refusal;
import dev.holdfast.log.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A call of the client that is on its way to the node that has the backend, be it this one. Its requests are in flight from its {@link
 * #begin} to its {@link #end}: they count like those that run here, and one that is cancelled is not sent any more. Meanwhile the session
 * stays, and a drain waits.
 */
public final class CallOnItsWay {
    private final SessionCore core;
    final List<InboundMessage> requests;
    private volatile List<Long> behind = List.of();

    private long number = Cancellation.ANY;
    private final Map<RequestId, Cancellation> cancelled = new LinkedHashMap<>(0);

    /** A call that is to set out for the node that has the backend. */
    public CallOnItsWay(SessionCore core, List<InboundMessage> requests) {
        this.core = core;
        this.requests = requests;
    }

    /** Sets out; returns why it does not, if so. */
    public Optional<Call.Outcome> begin() {
        core.host.forwarded(1);
        Lifecycle.Move move = core.lifecycle.callStarted(core.clock.now());
        Optional<Call.Outcome> refusal = refusal(core.alive(move));
        if (refusal.isPresent()) {
            end();
        }
        return refusal;
    }

    private Optional<Call.Outcome> refusal(boolean alive) {
        if (!alive) {
            return Optional.of(new Call.Closed(core.ended()));
        }
        return core.host.handingOver() ? Optional.of(new Call.Refused(Refusal.DRAINING)) : core.log.step(this::setOut);
    }

    private Optional<Call.Outcome> setOut(Step step) {
        Optional<RequestId> duplicate = core.duplicate(requests);
        if (duplicate.isPresent()) {
            return duplicate.map(Call.Duplicate::new);
        }
        Optional<Refusal> noRoom = core.noRoomFor(requests.size());
        if (noRoom.isEmpty()) {
            behind = core.requests.heard(requests);
            core.requests.setOut(this, step);
            core.host.running.add(core.principal, requests.size());
        }
        return noRoom.map(Call.Refused::new);
    }

    /** What becomes of it is known. */
    public void end() {
        core.log.run(this::arrive);
        core.lifecycle.callEnded(core.clock.now());
        core.host.forwarded(-1);
    }

    /** Its requests run here from now on, or nowhere, or elsewhere. */
    void arrive(Step step) {
        core.host.running.add(core.principal, -core.requests.arrive(this, step));
    }

    public List<InboundMessage> requests() {
        return requests;
    }

    /** Those of its requests that are not cancelled. */
    public List<InboundMessage> wanted() {
        return core.log.look(() -> requests.stream()
                .filter(request -> !cancelled.containsKey(request.requiredId()))
                .toList());
    }

    public List<Cancellation> cancellations() {
        return core.log.look(() -> List.copyOf(cancelled.values()));
    }

    /** Whether a cancellation means a request of its own that is not cancelled. */
    boolean isMeant(Cancellation cancellation) {
        RequestId id = cancellation.request();
        boolean known = cancellation.call() == Cancellation.ANY
                ? !behind.contains(cancellation.number())
                : cancellation.call() == number;
        return known
                && !cancelled.containsKey(id)
                && requests.stream().anyMatch(request -> request.requiredId().equals(id));
    }

    /** It is about to be sent under a number. */
    public void sent(long as) {
        core.log.run(step -> number = as);
    }

    /** The number under which it was sent last, {@link Cancellation#ANY} if it was not. */
    long number() {
        return number;
    }

    /** Which cancellations had come before it. */
    public List<Long> behind() {
        return behind;
    }

    void cancel(Cancellation cancellation, Step step) {
        cancelled.put(cancellation.request(), cancellation);
    }
}
