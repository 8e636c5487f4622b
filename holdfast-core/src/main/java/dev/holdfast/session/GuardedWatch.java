package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.spi.OutboundMessage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Follows a call without being able to disturb it. */
record GuardedWatch(CallWatch watch) implements CallWatch {
    private static final Logger logger = LoggerFactory.getLogger(GuardedWatch.class);

    private static void guarded(Runnable news) {
        try {
            news.run();
        } catch (Throwable e) {
            logger.error("what follows a call failed", e);
        }
    }

    @Override
    public Scope enter() {
        try {
            Scope scope = watch.enter();
            return () -> guarded(scope::close);
        } catch (Throwable e) {
            logger.error("what follows a call failed", e);
            return Scope.NONE;
        }
    }

    @Override
    public void attached(Attachment how) {
        guarded(() -> watch.attached(how));
    }

    @Override
    public void detached() {
        guarded(watch::detached);
    }

    @Override
    public void answered(OutboundMessage answer) {
        guarded(() -> watch.answered(answer));
    }

    @Override
    public void cancelled() {
        guarded(watch::cancelled);
    }

    @Override
    public void lost() {
        guarded(watch::lost);
    }
}
