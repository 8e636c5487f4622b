package dev.holdfast.gateway.stdio;

import dev.holdfast.spi.OutboundMessage;
import java.util.concurrent.CompletionStage;

/** Takes a message towards the client, on one of the session's streams. */
@FunctionalInterface
interface Carrier {
    /** Sends it; completes at the commit. */
    CompletionStage<Void> send(OutboundMessage message);
}
