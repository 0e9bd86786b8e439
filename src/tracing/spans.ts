import type { SpanContext, SpanOptions, Tracer } from '@opentelemetry/api';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { RandomIdGenerator } from '@opentelemetry/sdk-trace-base';
import type { Observer } from '../common/observer.ts';
import { withoutSecrets } from '../config/unguessable.ts';
import {
  createSampler,
  linkTo,
  readTraceparent,
  requestSpanOf,
  type SpanIds,
  traceIdOf,
} from './trace-context.ts';

export interface SpansOptions {
  /** The share of the traces that are exported. */
  ratio: number;
  /** Any other event may be any text. */
  events: ReadonlySet<string>;
  /** The store of the queue. */
  queue: string;
}

interface Span extends Pick<SpanOptions, 'kind' | 'attributes' | 'links'> {
  seconds: number;
  parent?: SpanContext | undefined;
}

/** Errors of deliveries that are not sampled: in an outage, every request is one. */
const errorsPerSecond = 100;

/** The methods of HTTP that have a name in traces. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);

/** How the tracer gets the ids of the next span. */
export class ChosenIds {
  next: SpanIds = { traceId: '', spanId: '' };
  generateTraceId = () => this.next.traceId;
  generateSpanId = () => this.next.spanId;
}

/**
 * Returns the observer that exports spans. A delivery has one trace: of its requests, and of the commits and jobs that
 * it was part of, which are children of the request that stored it. Spans of the same commit or job in several traces link
 * to the first of them.
 *
 * @param ids those of `tracer`, which records every span
 */
export function createSpans(tracer: Tracer, ids: ChosenIds, { ratio, events, queue }: SpansOptions) {
  const random = new RandomIdGenerator();
  const isSampled = createSampler(ratio);
  const routes = new Map<string, string>();
  const routeOf = (path: string) => {
    const route = routes.get(path) ?? withoutSecrets(path);
    routes.set(path, route);
    return route;
  };

  let second = 0;
  let errors = 0;
  const mayReportError = () => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, errors] = [now, 0];
    errors += 1;
    return errors <= errorsPerSecond;
  };

  const addSpan = (name: string, isError: boolean, next: SpanIds, span: Span): SpanContext => {
    const end = Date.now();
    ids.next = next;
    const { seconds, parent, ...options } = span;
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
    const added = tracer.startSpan(name, { ...options, startTime: end - seconds * 1000 }, context);
    if (isError) added.setStatus({ code: SpanStatusCode.ERROR });
    added.end(end);
    return added.spanContext();
  };

  /** @param reported those whose span is added even if their trace is not sampled */
  const addBatch = (
    name: string,
    deliveries: readonly string[],
    failed: readonly string[],
    reported: readonly string[],
    span: Span,
  ) => {
    let first: SpanContext | undefined;
    for (const delivery of deliveries) {
      const sampled = isSampled(delivery);
      if (!sampled && !(reported.includes(delivery) && mayReportError())) continue;
      const traceId = traceIdOf(delivery);
      // Without a sampled request, the span of an error is the root of its trace.
      const parent = sampled ? linkTo(requestSpanOf(traceId)).context : undefined;
      const links = first ? [{ context: first }] : [];
      const attributes = { ...span.attributes, 'receiver.delivery.id': delivery };
      const next = { traceId, spanId: random.generateSpanId() };
      const context = addSpan(name, failed.includes(delivery), next, { ...span, attributes, links, parent });
      first ??= context;
    }
  };

  return {
    /** The labels of an exemplar: the trace of the first of these deliveries that is sampled. */
    exemplarOf: (deliveries: readonly string[]): { trace_id: string } | undefined => {
      const delivery = deliveries.find(isSampled);
      return delivery === undefined ? undefined : { trace_id: traceIdOf(delivery) };
    },
    observer: {
      responded: ({ req, path, family, status, seconds, delivery, event, result, reason }) => {
        const id = delivery ?? random.generateTraceId();
        const isError = status !== 'aborted' && status >= 500;
        if (!isSampled(id) && !(isError && mayReportError())) return;
        const traceId = traceIdOf(id);
        const isFirst = result === 'accepted';
        const next = isFirst ? requestSpanOf(traceId) : { traceId, spanId: random.generateSpanId() };
        const sender = readTraceparent(req.headers.traceparent);
        const attributes = {
          'receiver.family': family,
          'receiver.event': event !== undefined && events.has(event) ? event : undefined,
          'receiver.delivery.id': delivery,
          'receiver.result': result,
          'http.request.method': methods.has(req.method ?? '') ? req.method : '_OTHER',
          'http.route': routeOf(path),
          'http.response.status_code': status === 'aborted' ? undefined : status,
          'error.type': reason,
        };
        const links = sender ? [linkTo(sender, true)] : [];
        addSpan('receive', isError, next, { kind: SpanKind.SERVER, attributes, links, seconds });
      },
      committed: ({ store, deliveries, seconds, error }) => {
        const attributes = {
          'receiver.store': store.toLowerCase(),
          'db.system.name': store.toLowerCase(),
          'receiver.deliveries': deliveries.length,
          'error.type': error === undefined ? undefined : typeOf(error),
        };
        const all = deliveries.map(({ id }) => id);
        const failed = error === undefined ? [] : all;
        addBatch('commit', all, failed, failed.slice(0, 1), { kind: SpanKind.CLIENT, attributes, seconds });
      },
      applied: ({ job, ids: all, applied, failed, broken, retries, seconds }) => {
        const attributes = {
          'receiver.queue': queue,
          'receiver.job.id': job,
          'receiver.deliveries': all.length,
          'receiver.applied': applied,
          'receiver.failed': failed.length,
          'receiver.retries': retries,
        };
        const errors = failed.map(({ id }) => id);
        if (broken.length + retries > 0) errors.push(...all.slice(0, 1));
        addBatch('apply', all, errors, errors, { kind: SpanKind.CONSUMER, attributes, seconds });
      },
    } satisfies Observer as Observer,
  };
}

/** A code, such as 23514, or a name; never a message. */
function typeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(code ?? name);
}
