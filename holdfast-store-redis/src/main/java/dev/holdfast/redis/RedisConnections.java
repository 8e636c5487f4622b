package dev.holdfast.redis;

import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a store has of connections and threads. */
final class RedisConnections implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(RedisConnections.class);
    private static final int LONGEST_OPENING_SECONDS = 120;

    private final Address address;
    private final Connector connector;
    private final CommandConnection commands;
    private final LargeCommands large;
    private final Refusals refusals;
    private final Completions completions = new Completions(Runtime.getRuntime().availableProcessors());

    private RedisConnections(ConnectionSettings settings, Connector connector, CommandConnection commands) {
        this.address = settings.address();
        this.connector = connector;
        this.commands = commands;
        this.large = new LargeCommands(connector, address.shown(), settings.timeout());
        this.refusals = new Refusals(commands, connector.timer(), address.shown());
    }

    static RedisConnections open(ConnectionSettings settings) {
        Address address = settings.address();
        Connector connector = new LettuceConnector(settings);
        try {
            CommandConnection commands =
                    new CommandConnection(connector, await(connector.connect(), address), address.shown());
            ServerFacts facts = await(ServerFacts.of(commands), address);
            facts.check(address.shown()).forEach(logger::warn);
            return new RedisConnections(settings, connector, commands);
        } catch (RuntimeException | Error e) {
            connector.close();
            throw e;
        }
    }

    private static <T> T await(CompletionStage<T> stage, Address address) {
        try {
            return stage.toCompletableFuture().get(LONGEST_OPENING_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw cause instanceof RedisStoreException told ? told : new RedisStoreException(address.shown(), cause);
        } catch (TimeoutException e) {
            throw new RedisStoreException(address.shown(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RedisStoreException(address.shown(), e);
        }
    }

    /** Waits for what a store needs to be open. */
    <T> T await(CompletionStage<T> stage) {
        return await(stage, address);
    }

    /** Where Redis is, for people. */
    String shown() {
        return address.shown();
    }

    Connector connector() {
        return connector;
    }

    CommandConnection commands() {
        return commands;
    }

    Scripts scripts() {
        return new Scripts(commands, large, refusals);
    }

    Completions completions() {
        return completions;
    }

    /** Why Redis cannot be used now. */
    Optional<String> trouble() {
        return commands.trouble()
                .or(() -> refusals.what()
                        .map(text -> new RedisStoreException(address.shown(), text))
                        .map(RedisStoreException::getMessage));
    }

    /** Where what Redis refuses is told. */
    Refusals refusals() {
        return refusals;
    }

    /** Why Redis does not do what it is asked, where it answers. */
    Optional<String> refusal() {
        return commands.trouble().isPresent() ? Optional.empty() : refusals.present();
    }

    @Override
    public void close() {
        commands.close();
        large.close();
        connector.close();
        completions.close();
    }
}
