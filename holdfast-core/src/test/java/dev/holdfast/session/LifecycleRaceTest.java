package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.log.EngineClock;
import dev.holdfast.session.Lifecycle.Move;
import java.time.Duration;
import java.time.InstantSource;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Clients that come back race with the deadline, with each other and with the end: whatever happens could have happened one
 * after the other, so that whoever got in is not reaped, and exactly one step closes. Lincheck runs the operations below, on threads
 * that spin: beside other tests it takes three times as long.
 */
@Tag("timing")
@Param(name = "now", gen = IntGen.class, conf = "0:3")
public class LifecycleRaceTest {
    /** How many scenarios each of the two tests draws; {@code -Dholdfast.races}. */
    private static final int SCENARIOS = Integer.getInteger("holdfast.races", 2);

    private static final long GRACE = 2;

    private static final EngineClock CLOCK = new EngineClock(() -> 0, InstantSource.system(), Duration.ofMillis(500));

    private final Lifecycle life =
            new Lifecycle(new Lifetime(Duration.ofNanos(GRACE), Duration.ofNanos(GRACE + 1), Duration.ZERO), CLOCK);

    public LifecycleRaceTest() {
        life.opened(0);
        life.attach(0);
    }

    @Operation
    public String resume(@Param(name = "now") int now) {
        return told(life.attach(now));
    }

    @Operation
    public String expire(@Param(name = "now") int now) {
        return told(life.expire(now));
    }

    @Operation
    public String visit(@Param(name = "now") int now) {
        return told(life.visit(now));
    }

    @Operation(runOnce = true)
    public String breakOff(@Param(name = "now") int now) {
        return told(life.detach(now, Close.BROKEN));
    }

    @Operation
    public String call(@Param(name = "now") int now) {
        return told(life.callStarted(now));
    }

    @Operation
    public String callAttached(@Param(name = "now") int now) {
        return told(life.callAttached(now));
    }

    @Operation
    public String close() {
        return told(life.close(EndReason.TERMINATED));
    }

    private static String told(Move move) {
        return (move.closes() ? "closes " : "")
                + (move.leavesClosed() ? "closed " : "")
                + (move.reconnects() ? "reconnects " : "")
                + (move.detaches() ? "detaches " : "")
                + move.after().readers()
                + move.after().running();
    }

    @Test
    void everyInterleavingIsAnOrder() {
        new ModelCheckingOptions()
                .iterations(SCENARIOS)
                .invocationsPerIteration(400)
                .threads(3)
                .actorsPerThread(2)
                .actorsBefore(0)
                .actorsAfter(1)
                .check(LifecycleRaceTest.class);
    }

    @Test
    void everyRaceIsAnOrder() {
        new StressOptions()
                .iterations(SCENARIOS)
                .invocationsPerIteration(1000)
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(0)
                .actorsAfter(1)
                .check(LifecycleRaceTest.class);
    }
}
