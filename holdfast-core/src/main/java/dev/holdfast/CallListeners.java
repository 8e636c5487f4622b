package dev.holdfast;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Several listeners as one, each whatever the others throw. */
record CallListeners(List<CallListener> all) implements CallListener {
    private static final Logger log = LoggerFactory.getLogger(CallListeners.class);

    private static void guarded(Runnable event) {
        try {
            event.run();
        } catch (Throwable e) {
            log.error("a listener of calls failed", e);
        }
    }

    @Override
    public CallWatch started(Session session, InboundMessage request) {
        List<CallWatch> watches = new ArrayList<>(all.size());
        for (CallListener listener : all) {
            guarded(() -> {
                CallWatch watch = Objects.requireNonNull(
                        listener.started(session, request),
                        () -> listener.getClass().getName() + " returned null: return CallWatch.NONE");
                if (watch != CallWatch.NONE) {
                    watches.add(watch);
                }
            });
        }
        return switch (watches.size()) {
            case 0 -> CallWatch.NONE;
            case 1 -> watches.get(0);
            default -> new Watches(watches);
        };
    }

    @Override
    public List<String> headers() {
        return all.stream()
                .flatMap(listener -> listener.headers().stream())
                .distinct()
                .toList();
    }

    /** Several watches as one. */
    private record Watches(List<CallWatch> all) implements CallWatch {
        private void tell(Consumer<CallWatch> event) {
            all.forEach(watch -> guarded(() -> event.accept(watch)));
        }

        @Override
        public Scope enter() {
            List<Scope> scopes = new ArrayList<>(all.size());
            tell(watch -> scopes.add(watch.enter()));
            return () -> {
                for (int i = scopes.size() - 1; i >= 0; i--) {
                    Scope scope = scopes.get(i);
                    guarded(scope::close);
                }
            };
        }

        @Override
        public void attached(Attachment how) {
            tell(watch -> watch.attached(how));
        }

        @Override
        public void detached() {
            tell(CallWatch::detached);
        }

        @Override
        public void answered(OutboundMessage answer) {
            tell(watch -> watch.answered(answer));
        }

        @Override
        public void cancelled() {
            tell(CallWatch::cancelled);
        }

        @Override
        public void lost() {
            tell(CallWatch::lost);
        }
    }
}
