package dev.holdfast.servlet.io;

/** An interrupt that a thread does not hear while it works for others: containers break a connection off on which it writes. For one thread. */
public final class HeldInterrupt {
    private boolean held;

    /** Sets the thread's interrupt aside, if there is one. */
    public void hold() {
        held |= Thread.interrupted();
    }

    /** Gives back what was set aside. */
    public void giveBack() {
        if (held) {
            Thread.currentThread().interrupt();
        }
    }

    /** Forgets an interrupt that what ran here has left behind: it is not for whoever owns the thread. */
    public static void forget() {
        boolean unused = Thread.interrupted();
    }
}
