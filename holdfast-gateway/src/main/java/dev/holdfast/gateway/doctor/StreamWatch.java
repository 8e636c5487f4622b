package dev.holdfast.gateway.doctor;

import dev.holdfast.gateway.doctor.Visit.Opened;
import dev.holdfast.gateway.doctor.Visit.Tool;
import dev.holdfast.gateway.process.DaemonThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Streams that are left alone: what ends them, and when. One says only what its server says by itself, so that a limit on silence ends it;
 * on the other something comes all the time, so that only a limit on its age does. Each has a session of its own. For one thread.
 */
final class StreamWatch {
    /** One of them, in its session. */
    private record Watched(Visit visit, TimedResponse stream) {
        private boolean isCut() {
            return stream.isBroken();
        }

        /** Whether it was cut though a silence as long as its last one had not harmed it. */
        private boolean isCutForItsAge() {
            return isCut() && stream.livedThroughItsLastSilence();
        }
    }

    private static final Duration TICK = Duration.ofMillis(100);
    private static final Duration MOST_BETWEEN_EVENTS = Duration.ofSeconds(1);
    /** How long a session is looked at after a cut. */
    private static final Duration LOOK = Duration.ofSeconds(3);
    /** How often progress is told, at least. */
    private static final Duration TOLD = Duration.ofSeconds(10);

    private final ScheduledExecutorService clock =
            Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("holdfast-doctor"));
    private final Duration time;
    private final Optional<Watched> quiet;
    private final Optional<Watched> busy;
    private final List<Visit> visits = new ArrayList<>();
    private final long begun = System.nanoTime();

    /**
     * Begins.
     *
     * @param time for how long
     * @param tool makes a tool that tells progress for about a time; empty if none may be called
     */
    StreamWatch(Way way, Duration time, Function<Duration, Optional<Tool>> tool) {
        this.time = time;
        this.quiet =
                visit(way).flatMap(visit -> watched(visit, visit.isSse() ? visit.answers() : visit.listen(Map.of())));
        Optional<Tool> called = tool.apply(time);
        boolean pinged = quiet.filter(each -> each.visit.isSse()).isPresent();
        this.busy = (pinged || called.isPresent() ? visit(way) : Optional.<Visit>empty())
                .flatMap(visit -> watched(visit, pinged ? visit.answers() : visit.call(called.orElseThrow())));
        long millis = interval().toMillis();
        busy.filter(each -> each.visit.isSse()).ifPresent(each -> {
            Future<?> unused = clock.scheduleAtFixedRate(each.visit::pingAway, millis, millis, TimeUnit.MILLISECONDS);
        });
    }

    private Optional<Visit> visit(Way way) {
        if (Visit.open(way) instanceof Opened opened) {
            visits.add(opened.visit());
            return Optional.of(opened.visit());
        }
        return Optional.empty();
    }

    /** Unless the server has said at once that there is no such stream. */
    private static Optional<Watched> watched(Visit visit, TimedResponse stream) {
        stream.within(MOST_BETWEEN_EVENTS, TimedResponse::hasHead);
        return stream.status() == 0 || stream.isGood() ? Optional.of(new Watched(visit, stream)) : Optional.empty();
    }

    private Stream<Watched> all() {
        return Stream.concat(quiet.stream(), busy.stream());
    }

    /** Waits until all have ended, or the time is over. */
    void await(Consumer<String> progress) {
        Duration told = elapsed();
        while (elapsed().compareTo(time) < 0 && all().anyMatch(each -> !each.stream.isOver())) {
            LockSupport.parkNanos(TICK.toNanos());
            if (elapsed().minus(told).compareTo(TOLD) > 0) {
                told = elapsed();
                long open = all().filter(each -> !each.stream.isOver()).count();
                progress.accept(
                        "watching streams: " + told.toSeconds() + " of " + time.toSeconds() + " s, " + open + " open");
            }
        }
        clock.shutdownNow();
    }

    private Duration elapsed() {
        return Duration.ofNanos(System.nanoTime() - begun);
    }

    private Duration interval() {
        Duration part = time.dividedBy(20);
        return part.compareTo(MOST_BETWEEN_EVENTS) < 0 ? part : MOST_BETWEEN_EVENTS;
    }

    /** Ends the sessions. */
    void close() {
        clock.shutdownNow();
        all().forEach(each -> each.stream.cut());
        visits.forEach(Visit::end);
    }

    /**
     * What there is to say of the limits.
     *
     * @param resumes whether the server resumes what was cut
     */
    List<Verdict> verdicts(boolean resumes) {
        if (quiet.isEmpty() && busy.isEmpty()) {
            return List.of(Verdict.unknown(
                    "age",
                    "the server has no stream that could be watched: its listening GET is refused",
                    "name a tool that takes its time and tells progress: --tool"));
        }
        return List.of(age(resumes), idle(resumes));
    }

    private Verdict age(boolean resumes) {
        Optional<Watched> cut = all().filter(Watched::isCutForItsAge).findFirst();
        if (cut.isPresent()) {
            TimedResponse stream = cut.get().stream;
            String limit = Verdict.text(stream.age());
            return cut(
                            "age",
                            "a balancer ends every response after " + limit,
                            "let streams end in order before (Holdfast: --max-connection-age " + below(stream.age())
                                    + "), or raise the limit of the balancer",
                            cut.get(),
                            resumes)
                    .with("ageMillis", stream.age().toMillis());
        }
        Optional<Watched> hung = all().filter(each -> each.stream.hangs()).findFirst();
        if (hung.isPresent()) {
            Duration last = hung.get().stream.age().minus(hung.get().stream.silence());
            return cut(
                    "age",
                    "nothing comes any more after " + Verdict.text(last)
                            + ", though the connection looks open: something on the way drops it without a word",
                    "let streams end in order before (Holdfast: --max-connection-age " + below(last)
                            + "), or raise its limit",
                    hung.get(),
                    resumes);
        }
        Optional<Watched> ended = quiet.filter(each -> each.stream.isInOrder());
        if (ended.isPresent()) {
            Duration age = ended.get().stream.age();
            String found = "the server ends streams in order after " + Verdict.text(age);
            Verdict verdict = resumes
                    ? Verdict.ok("age", found + ", and clients come back")
                    : Verdict.warning("age", found + ", and they cannot be resumed", "raise its limit");
            return verdict.with("ageMillis", age.toMillis());
        }
        Duration oldest =
                all().map(each -> each.stream.age()).max(Duration::compareTo).orElse(Duration.ZERO);
        if (all().allMatch(Watched::isCut)) {
            return Verdict.unknown(
                    "age", "no stream lived for long enough to tell a limit on its age", "see what 'idle' says");
        }
        return Verdict.ok("age", "no stream was ended within " + Verdict.text(oldest))
                .with("survivedMillis", oldest.toMillis());
    }

    private Verdict idle(boolean resumes) {
        Optional<Duration> oldest = all().filter(Watched::isCutForItsAge)
                .map(each -> each.stream.age())
                .findFirst();
        Optional<Watched> cut = all().filter(each -> each.isCut() && !each.isCutForItsAge())
                .filter(each -> oldest.filter(age -> each.stream.isAbout(age)).isEmpty())
                .findFirst();
        if (cut.isPresent()) {
            TimedResponse stream = cut.get().stream;
            boolean known = busy.filter(each -> !each.equals(cut.get()))
                    .filter(each -> each.stream.age().compareTo(stream.age().plus(TICK)) > 0)
                    .isPresent();
            String limit = Verdict.text(stream.silence());
            return cut(
                            "idle",
                            known
                                    ? "a stream that is silent for " + limit + " is cut"
                                    : "a stream is cut after " + limit + " without a byte (whether bytes would have"
                                            + " kept it could not be seen)",
                            "let a byte come more often (Holdfast: --heartbeat " + beat(stream.silence())
                                    + "), or raise the limit (nginx: proxy_read_timeout; HAProxy: timeout server)",
                            cut.get(),
                            resumes)
                    .with("idleMillis", stream.silence().toMillis());
        }
        Optional<Watched> silent = quiet.or(() -> busy);
        Duration longest = silent.map(each -> each.stream.longestSilence().compareTo(each.stream.silence()) > 0
                        ? each.stream.longestSilence()
                        : each.stream.silence())
                .orElseThrow();
        return Verdict.ok("idle", "a stream that was silent for " + Verdict.text(longest) + " was not cut")
                .with("survivedMillis", longest.toMillis());
    }

    /** What a cut comes to at this server. */
    private static Verdict cut(String check, String found, String advice, Watched watched, boolean resumes) {
        boolean kept = watched.visit.lastPing(LOOK).isTaken();
        Verdict verdict;
        if (!kept) {
            String lost = watched.visit.isSse()
                    ? "; over HTTP+SSE the session ends with it"
                    : "; this server loses the session then";
            verdict = Verdict.problem(check, found + lost, advice);
        } else if (resumes) {
            String stays = "; this server keeps the session, and clients resume the stream";
            verdict = Verdict.warning(check, found + stays, advice);
        } else {
            String stays = "; this server keeps the session, and loses what was under way";
            verdict = Verdict.problem(check, found + stays, advice);
        }
        return verdict.with("kept", kept ? 1 : 0);
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
