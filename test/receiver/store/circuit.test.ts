import { databaseCircuit, StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import { closeLater } from '../../support/close-later.ts';
import { until } from '../../support/until.ts';

/** A circuit of a store whose calls and probes succeed or fail as `store` says. */
function openCircuit(store: { works: boolean; probes: boolean }, timeoutMs = 1_000) {
  const changes: boolean[] = [];
  const attempts = { calls: 0, probes: 0 };
  const client = {
    query: async () => {
      attempts.probes += 1;
      if (!store.probes) throw new Error('down');
    },
    release: () => {},
  };
  const pool = { connect: async () => client } as never;
  const log = { error: () => changes.push(true), warn: () => changes.push(false) } as never;
  const circuit = databaseCircuit(pool, log, timeoutMs);
  closeLater(circuit.stop);
  const call = async () => {
    attempts.calls += 1;
    if (!store.works) throw new Error('down');
    return 'done';
  };
  return { circuit, changes, attempts, call };
}

it('after a failed call, further calls fail without reaching the store until a probe succeeds', async () => {
  const store = { works: false, probes: false };
  const { circuit, changes, attempts, call } = openCircuit(store);
  await expect(circuit.run(call)).rejects.toThrow(StoreUnavailable);
  await expect(circuit.run(call)).rejects.toThrow(StoreUnavailable);
  expect(attempts.calls).toBe(1);
  await until(() => attempts.probes > 1);
  Object.assign(store, { works: true, probes: true });
  await until(() => !circuit.unavailableSince);
  expect(await circuit.run(call)).toBe('done');
  expect(changes).toEqual([true, false]);
});

it('a check without a recent success is a probe, and one shortly after a success costs nothing', async () => {
  const store = { works: true, probes: false };
  const { circuit, attempts, call } = openCircuit(store);
  expect(await circuit.check()).toBe(false);
  expect((circuit.lastError() as Error).message).toBe('down');
  await circuit.run(call);
  expect([await circuit.check(), attempts.probes]).toEqual([true, 1]);
});

it('a call that exceeds its timeout opens the circuit', async () => {
  const { circuit, changes } = openCircuit({ works: true, probes: false }, 20);
  await expect(circuit.run(() => new Promise(() => {}))).rejects.toThrow(StoreUnavailable);
  expect([circuit.unavailableSince, changes]).toEqual([expect.any(Date), [true]]);
});

it('an error that is no outage is raised to the caller and changes nothing', async () => {
  const { circuit, changes } = openCircuit({ works: true, probes: true });
  await expect(circuit.run(() => Promise.reject(new TypeError('bad data')))).rejects.toThrow('bad data');
  expect([circuit.unavailableSince, changes]).toEqual([undefined, []]);
});

it('an error outside of a call opens the circuit only if the probe fails', async () => {
  const store = { works: true, probes: true };
  const { circuit, changes } = openCircuit(store);
  expect(await circuit.probeAfter(new Error('a connection broke'))).toBe(false);
  expect(changes).toEqual([]);
  store.probes = false;
  expect(await circuit.probeAfter(new Error('a connection broke'))).toBe(true);
  expect(changes).toEqual([true]);
});
