import { randomUUID } from 'node:crypto';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { type Log, throttled } from '../common/log.ts';
import { version } from '../common/version.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { Config } from '../config/config.ts';
import { ChosenIds, createSpans, type SpansOptions } from './spans.ts';
import { traceIdOf } from './trace-context.ts';

const exportTimeoutMs = 10_000;
/** A collector that does not respond must not delay a stop. */
const stopTimeoutMs = 2_000;

/**
 * Opens the export of traces to an OTLP receiver. Spans wait in a queue of 2,048; where the receiver is slow or
 * unavailable, further ones are dropped.
 */
export function openTracing(
  { endpoint, headers, serviceName, resource, ratio }: NonNullable<Config['tracing']>,
  { log, ...options }: Omit<SpansOptions, 'ratio'> & { log: Log },
) {
  const report = throttled((more, message) => log.warn({ ...more, message }, 'traces are incomplete'));
  const debug = (message: string) => log.debug({ message }, 'OpenTelemetry');
  // What fails is reported by the exporter below, once; what is dropped, and partial success, are warnings.
  diag.setLogger(
    { error: debug, warn: report, info: debug, debug, verbose: debug },
    { logLevel: DiagLogLevel.INFO, suppressOverrideMessage: true },
  );
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = reportOutages(
    new OTLPTraceExporter({ url, headers, timeoutMillis: exportTimeoutMs }),
    log,
  );
  const ids = new ChosenIds();
  const attributes = {
    'service.version': version,
    'service.instance.id': randomUUID(),
    ...resource,
    ...(serviceName && { 'service.name': serviceName }),
  };
  const provider = new BasicTracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(attributes)),
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  return {
    ...createSpans(provider.getTracer('webhook-receiver'), ids, { ratio, ...options }),
    /** Its lines about a delivery have the id of its trace. */
    log: log.child({}, { formatters: { log: addTraceId } }) as Log,
    stop: async () => {
      await withTimeout(stopTimeoutMs, provider.shutdown()).catch((err) => {
        log.warn({ err }, 'the last traces were not exported');
      });
    },
  };
}

function addTraceId(line: { delivery?: unknown }): object {
  const { delivery } = line;
  return typeof delivery === 'string' ? { ...line, trace_id: traceIdOf(delivery) } : line;
}

/** Logs when exports begin to fail, and when they work again. */
function reportOutages(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const hasFailed = result.error !== undefined;
        if (hasFailed && !isFailing) log.warn({ err: result.error }, 'traces cannot be exported');
        if (!hasFailed && isFailing) log.info('traces are exported again');
        isFailing = hasFailed;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
