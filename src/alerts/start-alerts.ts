import { setTimeout as sleep } from 'node:timers/promises';
import { type Log, throttled } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import { openChannels } from '../operations/channels.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import { afterSending, isDue, updateAlerts } from './alert.ts';
import { type AlertStore, memoryStore, tableStore } from './alert-store.ts';
import { createSend } from './channels.ts';
import { definitions, outage } from './definitions.ts';
import { createFind, type Sources } from './find.ts';
import { compose } from './message.ts';

interface AlertDependencies extends Omit<Sources, 'sinceRetentionMs'> {
  config: Pick<Config, 'alerts' | 'retention'>;
  /** Whether this process applies deliveries. */
  isWorker: boolean;
  circuit: Circuit;
  log: Log;
}

/**
 * Sends alerts while the process runs. One process at a time checks for problems, notifies the channels, and records the
 * alerts that were sent: a crash between the two repeats a message and loses none.
 */
export function startAlerts(dependencies: AlertDependencies) {
  const { config, db, isWorker, circuit, log } = dependencies;
  const { everyMs, outageMs, settledMs } = config.alerts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const senders = new Map(
    openChannels(config.alerts).map((channel) => [channel.name, createSend(channel, everyMs, log, signal)]),
  );

  const outages = [outage, ...definitions].filter(({ isOutage }) => isOutage);
  const delays = { afterMs: Object.fromEntries(outages.map(({ name }) => [name, outageMs])), settledMs };
  let lastRetention = performance.now();
  const isKept = Object.keys(config.retention).length > 0;
  const sinceRetentionMs = () => (isKept ? performance.now() - lastRetention : undefined);
  const sources = { ...dependencies, sinceRetentionMs };

  const reportError = throttled((more, err) => log.warn({ err, ...more }, 'alerts could not be checked'));
  const onError = async (error: unknown) => {
    if (!signal.aborted && !(await circuit.probeAfter(error))) reportError(error);
  };
  const findOutage = createFind([outage], sources, onError);
  const others = definitions.filter(({ ofWorker }) => isWorker || !ofWorker);
  const findOthers = createFind(others, sources, onError);
  const outageState = memoryStore();
  const state = tableStore(db, log);

  /** All that is due for a channel is one message. */
  const pass = async (exclusively: AlertStore, find: ReturnType<typeof createFind>) => {
    const { conditions, checked } = await find();
    await exclusively(conditions.length > 0, async ({ alerts, now, save }) => {
      let current = [...senders.keys()].flatMap((name) => {
        const own = alerts.filter(({ channel }) => channel === name);
        return updateAlerts(name, own, conditions, checked, now, delays);
      });
      await save(current);
      for (const [name, send] of senders) {
        const due = current.filter((alert) => alert.channel === name && isDue(alert, now, delays));
        if (due.length === 0 || !(await send(compose(due, now)))) continue;
        current = current.flatMap((alert) => (due.includes(alert) ? afterSending(alert, now) : [alert]));
        await save(current);
      }
    });
  };

  const working = (async () => {
    while (!signal.aborted) {
      await pass(outageState, findOutage).catch(onError);
      if (!circuit.isOpen) await pass(state, findOthers).catch(onError);
      await sleep(everyMs, undefined, { signal }).catch(() => {});
    }
  })();

  return {
    /** To be called when a pass of the retention is complete. */
    retained: () => {
      lastRetention = performance.now();
    },
    /** Ends what is being sent: another process, or the next start, sends it again. */
    stop: async () => {
      stopping.abort();
      await working;
    },
  };
}
