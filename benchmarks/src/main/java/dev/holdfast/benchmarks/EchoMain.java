package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.HttpLoad;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.load.Workload;
import java.time.Duration;

/**
 * Calls of the echo tool at one server, for something else to watch it. Arguments: {@code connections}, {@code shared=1} for one session,
 * {@code warmup}, {@code seconds}, and the server.
 */
final class EchoMain {
    private EchoMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        Workload kind = options.number("shared", 0) == 0 ? Workload.ECHO : Workload.SHARED;
        Workload workload = kind.over(options.number("connections", 64));
        try (HttpLoad load = new HttpLoad(target, workload, target::usage)) {
            load.run(Duration.ofSeconds(options.number("warmup", 30)));
            System.out.println(target.name() + " "
                    + load.run(Duration.ofSeconds(options.number("seconds", 20)))
                            .line());
        }
    }
}
