package dev.holdfast.it;

/** How a client loses its connection. */
enum Breakage {
    /** Reset by the peer. */
    RST {
        @Override
        void happenTo(RawConnection connection) {
            connection.reset();
        }
    },
    /** Closed by the peer, in the middle of the response. */
    FIN {
        @Override
        void happenTo(RawConnection connection) {
            connection.close();
        }
    };

    abstract void happenTo(RawConnection connection);
}
