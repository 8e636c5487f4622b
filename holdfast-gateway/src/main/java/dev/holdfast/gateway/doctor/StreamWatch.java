package dev.holdfast.gateway.doctor;

import static dev.holdfast.gateway.doctor.Verdict.ok;
import static dev.holdfast.gateway.doctor.Verdict.problem;
import static dev.holdfast.gateway.doctor.Verdict.text;
import static dev.holdfast.gateway.doctor.Verdict.unknown;
import static dev.holdfast.gateway.doctor.Verdict.warning;

import dev.holdfast.gateway.doctor.Visit.Fate;
import dev.holdfast.gateway.doctor.Visit.Opened;
import dev.holdfast.gateway.doctor.Visit.Tool;
import dev.holdfast.gateway.process.DaemonThreads;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Streams that are left alone: what ends them, and when. One says only what its server says by itself, so that a limit on silence ends it;
 * on the other something comes all the time, so that only a limit on its age does. Each has a session of its own, which is asked for as
 * soon as the stream has broken. One that broke is followed by a second one, if there is time for it.
 */
final class StreamWatch {
    /** What is watched. */
    private enum Kind {
        QUIET,
        BUSY
    }

    /** A stream in its session, which is asked for once. */
    private final class Watched {
        private final Kind kind;
        private final Visit visit;
        private final TimedResponse stream;
        private final int call;
        private final AtomicBoolean noticed = new AtomicBoolean();
        private Optional<Fate> fate = Optional.empty();

        private Watched(Kind kind, Visit visit, TimedResponse stream) {
            this.kind = kind;
            this.visit = visit;
            this.stream = stream;
            this.call = visit.lastId();
        }

        /** What has become of the session by the cut: asked once, and waits for that. */
        private synchronized Fate fate() {
            if (fate.isEmpty()) {
                fate = Optional.of(visit.fate(LOOK));
            }
            return fate.get();
        }

        /** Whether it was cut though a silence as long as its last one had not harmed it. */
        private boolean isCutForItsAge() {
            return stream.isBroken() && stream.livedThroughItsLastSilence(late);
        }

        private boolean isCutForItsSilence() {
            return stream.isBroken() && !stream.livedThroughItsLastSilence(late);
        }

        private boolean isAbout(Watched other) {
            return stream.isAbout(other.stream.age(), late);
        }

        private boolean isEndedEarly() {
            return stream.isInOrder()
                    && (kind == Kind.QUIET || stream.answer(call).isEmpty());
        }
    }

    private static final Duration TICK = Duration.ofMillis(100);
    private static final Duration MOST_BETWEEN_EVENTS = Duration.ofSeconds(1);
    /** How long a session is looked at after a cut. */
    private static final Duration LOOK = Duration.ofSeconds(3);
    /** How often progress is told, at least. */
    private static final Duration TOLD = Duration.ofSeconds(10);

    private final ScheduledExecutorService clock =
            Executors.newScheduledThreadPool(6, DaemonThreads.numbered("holdfast-doctor-"));
    private final Way way;
    private final Duration time;
    private final Function<Duration, Optional<Tool>> tool;
    private final List<Watched> all = new CopyOnWriteArrayList<>();
    private final long begun = System.nanoTime();
    private Duration ticked = Duration.ZERO;
    /** By how much a tick came too late, at worst: on a busy machine all that comes is seen too late by so much. */
    private volatile Duration late = Duration.ZERO;

    /**
     * Begins.
     *
     * @param time for how long
     * @param tool makes a tool that tells progress for about a time; empty if none may be called
     */
    StreamWatch(Way way, Duration time, Function<Duration, Optional<Tool>> tool) {
        this.way = way;
        this.time = time;
        this.tool = tool;
        ticked = elapsed();
        everyTick(this::tick);
        for (Kind kind : Kind.values()) {
            begin(kind);
            everyTick(() -> look(kind));
        }
    }

    private void everyTick(Runnable task) {
        Future<?> unused = clock.scheduleWithFixedDelay(task, TICK.toMillis(), TICK.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void tick() {
        Duration now = elapsed();
        Duration over = now.minus(ticked).minus(TICK);
        late = over.compareTo(late) > 0 ? over : late;
        ticked = now;
    }

    private void begin(Kind kind) {
        Optional<Tool> called = kind == Kind.BUSY ? tool.apply(time) : Optional.empty();
        boolean nothing = kind == Kind.BUSY && called.isEmpty() && all.stream().noneMatch(each -> each.visit.isSse());
        if (nothing || !(Visit.open(way) instanceof Opened opened)) {
            return;
        }
        Visit visit = opened.visit();
        TimedResponse stream =
                visit.isSse() ? visit.answers() : called.map(visit::call).orElseGet(() -> visit.listen(Map.of()));
        stream.within(MOST_BETWEEN_EVENTS, TimedResponse::hasHead);
        all.add(new Watched(kind, visit, stream));
        if (kind == Kind.BUSY && visit.isSse()) {
            long millis = Math.min(MOST_BETWEEN_EVENTS.toMillis(), time.toMillis() / 20);
            Future<?> unused = clock.scheduleAtFixedRate(
                    () -> {
                        if (!stream.isOver()) {
                            visit.pingAway();
                        }
                    },
                    millis,
                    millis,
                    TimeUnit.MILLISECONDS);
        }
    }

    private Stream<Watched> all(Kind kind) {
        return all.stream().filter(each -> each.kind == kind && !each.stream.isRefused());
    }

    /** Does what there is to do as soon as a stream is seen to be cut. */
    private void look(Kind kind) {
        for (Watched each : all) {
            if (each.kind == kind && each.stream.isBroken() && each.noticed.compareAndSet(false, true)) {
                clock.execute(each::fate);
                if (mayFollow(each)) {
                    begin(kind);
                }
            }
        }
    }

    /** Whether a second stream, as long as one that was cut, would be seen to its end. */
    private boolean mayFollow(Watched cut) {
        Duration another = cut.stream.age().multipliedBy(11).dividedBy(10).plus(TICK.multipliedBy(3));
        return cut.stream.isBroken()
                && all(cut.kind).count() == 1
                && elapsed().plus(another).compareTo(time) < 0;
    }

    /** Waits until all have ended, or the time is over. */
    void await(Consumer<String> progress) {
        Duration told = elapsed();
        while (elapsed().compareTo(time) < 0
                && all.stream().anyMatch(each -> !each.stream.isOver() || mayFollow(each))) {
            LockSupport.parkNanos(TICK.toNanos());
            if (elapsed().minus(told).compareTo(TOLD) > 0) {
                told = elapsed();
                long open = all.stream().filter(each -> !each.stream.isOver()).count();
                progress.accept(
                        "watching streams: " + told.toSeconds() + " of " + time.toSeconds() + " s, " + open + " open");
            }
        }
        clock.shutdown();
    }

    private Duration elapsed() {
        return Duration.ofNanos(System.nanoTime() - begun);
    }

    /** Leaves the streams. */
    void close() {
        clock.shutdownNow();
        all.forEach(each -> each.stream.cut());
    }

    /** Whether bytes of a body came while its stream was open. */
    boolean isUnbuffered() {
        return all.stream().anyMatch(each -> each.stream.isLive());
    }

    /**
     * What there is to say of the limits.
     *
     * @param resumes whether the server resumes what was cut
     */
    List<Verdict> verdicts(boolean resumes) {
        List<Watched> seen =
                all.stream().filter(each -> !each.stream.isRefused()).toList();
        if (seen.isEmpty()) {
            String why = all.stream()
                    .findFirst()
                    .map(each -> "its listening GET was answered " + each.stream.outcome() + " after "
                            + text(each.stream.age()))
                    .orElse("no other session could be opened");
            return Stream.of("age", "idle")
                    .map(each -> unknown(each, "there is no stream to watch: " + why, Doctor.ANOTHER_TOOL))
                    .toList();
        }
        Optional<Watched> old = seen.stream().filter(Watched::isCutForItsAge).findFirst();
        Optional<Watched> silent = seen.stream()
                .filter(Watched::isCutForItsSilence)
                .filter(each -> old.filter(each::isAbout).isEmpty())
                .findFirst();
        return List.of(age(seen, old, resumes), idle(seen, silent, resumes));
    }

    private Verdict age(List<Watched> seen, Optional<Watched> old, boolean resumes) {
        if (old.isPresent()) {
            Duration age = old.get().stream.age();
            String limit = text(age);
            String advice = "let streams end in order before (Holdfast: --max-connection-age " + below(age)
                    + "), or raise the limit of the balancer";
            return cut(
                            "age",
                            "something on the way cuts every response after " + limit,
                            "a response was cut after " + limit,
                            advice,
                            old.get(),
                            resumes)
                    .with("ageMillis", age.toMillis());
        }
        Optional<Watched> hung =
                seen.stream().filter(each -> each.stream.hangs(late)).findFirst();
        if (hung.isPresent()) {
            Duration last = hung.get().stream.age().minus(hung.get().stream.silence());
            String found = "nothing comes any more after " + text(last)
                    + ", though the connection looks open: something on the way drops it without a word";
            String advice = "let streams end in order before (Holdfast: --max-connection-age " + below(last)
                    + "), or raise the limit of the hop that drops them";
            return cut("age", found, found, advice, hung.get(), resumes);
        }
        Optional<Watched> ended = seen.stream().filter(Watched::isEndedEarly).findFirst();
        if (ended.isPresent()) {
            Duration age = ended.get().stream.age();
            String found = "streams are ended in order after " + text(age);
            Verdict verdict = resumes
                    ? ok("age", found + ", and clients come back")
                    : warning(
                            "age",
                            found + ", and cannot be resumed",
                            "raise the limit of the server, or of the hop that ends them");
            return verdict.with("ageMillis", age.toMillis());
        }
        if (seen.stream().allMatch(Watched::isCutForItsSilence)) {
            return unknown("age", "no stream lived for long enough to tell a limit on its age", "see what 'idle' says");
        }
        Duration oldest = seen.stream()
                .map(each -> each.stream.age())
                .max(Duration::compareTo)
                .orElseThrow();
        return ok("age", "no stream was ended within " + text(oldest)).with("survivedMillis", oldest.toMillis());
    }

    private Verdict idle(List<Watched> seen, Optional<Watched> silent, boolean resumes) {
        if (silent.isEmpty()) {
            Duration longest = seen.stream()
                    .filter(each -> !each.isCutForItsSilence())
                    .map(each -> each.stream.longestSilence())
                    .max(Duration::compareTo)
                    .orElse(Duration.ZERO);
            return ok("idle", "a stream that was silent for " + text(longest) + " was not cut")
                    .with("survivedMillis", longest.toMillis());
        }
        TimedResponse stream = silent.get().stream;
        boolean known = seen.stream()
                .anyMatch(each -> each.kind != silent.get().kind
                        && each.stream.age().compareTo(stream.age().plus(TICK)) > 0);
        String limit = text(stream.silence());
        String whether = known ? "" : " (whether bytes would have kept it could not be seen)";
        String advice = "let a byte come more often (Holdfast: --heartbeat " + beat(stream.silence())
                + "), or raise the limit (nginx: proxy_read_timeout; HAProxy: timeout server)";
        return cut(
                        "idle",
                        "streams that are silent for " + limit + " are cut" + whether,
                        "a stream that was silent for " + limit + " was cut" + whether,
                        advice,
                        silent.get(),
                        resumes)
                .with("idleMillis", stream.silence().toMillis());
    }

    /**
     * What a cut comes to at this server.
     *
     * @param every what to say where a second stream was cut too
     * @param once what to say where no other one was
     */
    private Verdict cut(String check, String every, String once, String advice, Watched first, boolean resumes) {
        Optional<Watched> second = all(first.kind).filter(each -> each != first).reduce((one, another) -> another);
        boolean about = second.filter(each -> each.isAbout(first)).isPresent();
        boolean again = about && second.orElseThrow().stream.isBroken();
        boolean outlived = !about
                && second.filter(each -> each.stream.age().compareTo(first.stream.age()) > 0)
                        .isPresent();
        String found = again ? every : once;
        if (outlived) {
            found += ", and the next one was not: something that happened once, such as a restart";
        } else if (!again && first.stream.isBroken()) {
            long twice = first.stream.age().multipliedBy(11).dividedBy(5).toSeconds() + 10;
            found += " (seen once; --for " + twice + "s tells whether that is a rule)";
        }
        found += "; ";
        Fate fate = first.fate();
        if (fate == Fate.LOST) {
            String lost = first.visit.isSse()
                    ? "over HTTP+SSE the session ends with it"
                    : "this server loses the session then";
            return problem(check, found + lost, advice)
                    .with("cuts", again ? 2 : 1)
                    .with("kept", 0);
        }
        found += fate == Fate.UNKNOWN
                ? "whether the session outlives it could not be seen"
                : (first.visit.hasSession()
                                ? "this server keeps the session, and "
                                : "there is no session to lose, and ")
                        + (resumes ? "clients resume the stream" : "what was under way is lost");
        boolean mild = resumes || outlived || fate == Fate.UNKNOWN;
        return (mild ? warning(check, found, advice) : problem(check, found, advice)).with("cuts", again ? 2 : 1);
    }

    /** A time safely below a limit. */
    private static String below(Duration limit) {
        return Math.max(1, limit.toMillis() * 4 / 5 / 1000) + "s";
    }

    private static String beat(Duration limit) {
        long third = Math.max(100, limit.toMillis() / 300 * 100);
        return third < 1000 ? third + "ms" : third / 1000 + "s";
    }
}
