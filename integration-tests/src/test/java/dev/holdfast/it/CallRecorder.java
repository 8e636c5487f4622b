package dev.holdfast.it;

import static net.bytebuddy.matcher.ElementMatchers.isAbstract;
import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.isMethod;
import static net.bytebuddy.matcher.ElementMatchers.nameStartsWith;
import static net.bytebuddy.matcher.ElementMatchers.none;
import static net.bytebuddy.matcher.ElementMatchers.not;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToIntFunction;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.Advice.Enter;
import net.bytebuddy.asm.Advice.OnMethodEnter;
import net.bytebuddy.asm.Advice.OnMethodExit;
import net.bytebuddy.asm.Advice.Origin;

/**
 * The agent of {@link CallPathTest}: hears of every method of Holdfast's own code that is entered and left, on all threads. What {@link
 * CallPathTest} counts is defined there. Public for the code it is woven into.
 */
public final class CallRecorder {
    private static final int WARM_UP = 8;
    private static final int CALLS = 11;
    private static final long IDLE_MILLIS = 2_000;
    private static final long QUIET_MILLIS = 40;
    private static final int LONGEST_WAIT = 50;

    /** What happens to the methods that are entered. */
    private enum Mode {
        OFF,
        IDLE,
        CALL
    }

    /** Methods, entered one in the other: how deep the innermost is, and the outermost. */
    private static final class Stack {
        private String root = "";
        private int entered;
        private int depth;
    }

    /** A method that was entered: its class, its name, and how many methods of Holdfast were on the stack, lambdas apart. */
    record Entry(String type, String method, int depth) {
        /** The top-level type whose file it is in. */
        String file() {
            int nested = type.indexOf('$');
            return nested < 0 ? type : type.substring(0, nested);
        }
    }

    /** The figures of a path, and the entries of one call. */
    record Measured(int types, int entries, int depth, List<Entry> call) {}

    /** Something that is done again and again. */
    interface Action {
        void run() throws Exception;
    }

    private static final ThreadLocal<Stack> STACK = ThreadLocal.withInitial(Stack::new);
    private static final Set<String> PERIODIC_ROOTS = ConcurrentHashMap.newKeySet();
    private static final Set<String> PERIODIC_METHODS = ConcurrentHashMap.newKeySet();
    private static final Queue<Entry> ENTRIES = new ConcurrentLinkedQueue<>();
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static volatile Mode mode = Mode.OFF;

    private CallRecorder() {}

    /** Weaves the recorder into the classes of Holdfast as they are loaded, and leaves those of its tests alone. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        new AgentBuilder.Default(new ByteBuddy().ignore(none()))
                .disableClassFormatChanges()
                .type(nameStartsWith("dev.holdfast.").and(not(nameStartsWith("dev.holdfast.it."))))
                .transform((builder, type, loader, module, domain) -> builder.visit(
                        Advice.to(Woven.class).on(isMethod().or(isConstructor()).and(not(isAbstract())))))
                .with(AgentBuilder.Listener.StreamWriting.toSystemError().withErrorsOnly())
                .installOn(instrumentation);
    }

    private static final class Woven {
        @OnMethodEnter
        static long enter(@Origin("#t") String type, @Origin("#m") String method) {
            return CallRecorder.enter(type, method);
        }

        @OnMethodExit
        static void leave(@Enter long before) {
            CallRecorder.leave(before);
        }
    }

    /** A method begins; returns what {@link #leave} needs at its end. What throws an exception is left when its caller is. */
    public static long enter(String type, String method) {
        Stack stack = STACK.get();
        long before = (long) stack.entered << Integer.SIZE | stack.depth;
        boolean outermost = stack.entered == 0;
        if (outermost) {
            stack.root = type + "." + method;
        }
        stack.entered++;
        if (!method.startsWith("lambda$")) {
            stack.depth++;
        }
        if (mode == Mode.IDLE) {
            (outermost ? PERIODIC_ROOTS : PERIODIC_METHODS).add(outermost ? stack.root : inRoot(stack, type, method));
        }
        if (mode != Mode.OFF
                && !PERIODIC_ROOTS.contains(stack.root)
                && !PERIODIC_METHODS.contains(inRoot(stack, type, method))) {
            COUNT.incrementAndGet();
            ENTRIES.add(new Entry(type, method, stack.depth));
        }
        return before;
    }

    private static String inRoot(Stack stack, String type, String method) {
        return stack.root + " " + type + "." + method;
    }

    /** A method ends. */
    public static void leave(long before) {
        Stack stack = STACK.get();
        stack.entered = (int) (before >> Integer.SIZE);
        stack.depth = (int) before;
    }

    /**
     * What a call enters: of several calls the fewest types and entries, for two threads that meet may make one longer, and the median
     * of the depths.
     *
     * @param prepare what comes before each call and is not counted
     */
    static Measured measure(Action prepare, Action call) throws Exception {
        PERIODIC_ROOTS.clear();
        PERIODIC_METHODS.clear();
        for (int i = 0; i < WARM_UP; i++) {
            prepare.run();
            call.run();
        }
        awaitQuiet();
        mode = Mode.IDLE;
        Thread.sleep(IDLE_MILLIS);
        mode = Mode.OFF;
        List<List<Entry>> all = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            prepare.run();
            awaitQuiet();
            ENTRIES.clear();
            mode = Mode.CALL;
            call.run();
            awaitQuiet();
            mode = Mode.OFF;
            all.add(List.copyOf(ENTRIES));
        }
        return new Measured(
                least(all, CallRecorder::types),
                least(all, List::size),
                all.stream().mapToInt(CallRecorder::depth).sorted().toArray()[CALLS / 2],
                Collections.min(all, Comparator.comparing(List::size)));
    }

    private static int least(List<List<Entry>> calls, ToIntFunction<List<Entry>> figure) {
        return calls.stream().mapToInt(figure).min().orElseThrow();
    }

    private static int types(List<Entry> call) {
        return (int) call.stream().map(Entry::file).distinct().count();
    }

    private static int depth(List<Entry> call) {
        return call.stream().mapToInt(Entry::depth).max().orElse(0);
    }

    /** Waits until nothing has been entered for a while but what a timer enters. */
    private static void awaitQuiet() throws InterruptedException {
        Mode before = mode;
        mode = Mode.CALL;
        int seen = -1;
        for (int i = 0; i < LONGEST_WAIT && seen != COUNT.get(); i++) {
            seen = COUNT.get();
            Thread.sleep(QUIET_MILLIS);
        }
        mode = before;
    }
}
