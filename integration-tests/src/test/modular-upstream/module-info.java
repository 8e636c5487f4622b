/** An application in front of another server, on the module path, as a user writes it. */
module com.example.front {
    requires dev.holdfast.json;
    requires dev.holdfast.servlet;
    requires dev.holdfast.upstream;
    requires org.eclipse.jetty.ee11.servlet;
}
