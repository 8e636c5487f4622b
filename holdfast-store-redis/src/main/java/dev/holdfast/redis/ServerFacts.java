package dev.holdfast.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a server says of itself, as far as it matters to those who keep sessions in it. */
final class ServerFacts {
    private static final Pattern VERSION = Pattern.compile("(?m)^redis_version:(\\d+)\\.(\\d+)");
    private static final int OLDEST = 602;

    private final String info;

    private ServerFacts(String info) {
        this.info = info;
    }

    static CompletionStage<ServerFacts> of(CommandConnection commands) {
        return commands.run(redis -> redis.info()).thenApply(ServerFacts::new);
    }

    /** Refuses a server that is too old, and returns what its operator should know. */
    List<String> check(String shown) {
        Matcher version = VERSION.matcher(info);
        if (version.find() && Integer.parseInt(version.group(1)) * 100 + Integer.parseInt(version.group(2)) < OLDEST) {
            throw new RedisStoreException(
                    shown, "is Redis " + version.group(1) + "." + version.group(2) + ", needed is 6.2 or newer");
        }
        List<String> warnings = new ArrayList<>();
        if (!says("maxmemory:0") && info.contains("maxmemory_policy:") && !says("maxmemory_policy:noeviction")) {
            warnings.add(shown + " may evict keys, and sessions with them: set maxmemory-policy noeviction");
        }
        if (says("aof_enabled:0")) {
            warnings.add(shown + " has no append-only file: sessions are lost when it restarts");
        }
        return warnings;
    }

    private boolean says(String line) {
        return info.lines().anyMatch(line::equals);
    }
}
