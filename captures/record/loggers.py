"""Logging of the servers: to standard output, which tells readiness, and the request log to its own file."""

from pathlib import Path

from captures.record.spec import Spec

_LOG4J1 = """log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={home}/kafka-request.log
log4j.appender.requests.layout=org.apache.log4j.PatternLayout
log4j.appender.requests.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.request.logger={level}, requests
log4j.additivity.kafka.request.logger=false
"""

_LOG4J2 = """status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
appender.requests.type = File
appender.requests.name = requests
appender.requests.fileName = {home}/kafka-request.log
appender.requests.layout.type = PatternLayout
appender.requests.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
logger.requests.name = kafka.request.logger
logger.requests.level = {level}
logger.requests.additivity = false
logger.requests.appenderRef.requests.ref = requests
"""


def write(home: Path, spec: Spec) -> None:
    """Write the logging setup of a server into its folder."""
    level = "trace" if spec.request_log else "off"
    text = _LOG4J2 if spec.modern else _LOG4J1
    (home / _name(spec)).write_text(text.format(home=home, level=level if spec.modern else level.upper()))


def options(home: Path, spec: Spec) -> list[str]:
    """Return the options of java that make the server use it."""
    key = "log4j2.configurationFile" if spec.modern else "log4j.configuration"
    return [f"-D{key}=file:{home / _name(spec)}"]


def _name(spec: Spec) -> str:
    return "log4j2.properties" if spec.modern else "log4j.properties"
