import { Circuit, StoreAway } from '../../src/store/circuit.ts';
import { until } from '../support/until.ts';

const signal = new AbortController().signal;
const circuits: Circuit[] = [];
afterEach(() => {
  for (const circuit of circuits.splice(0)) circuit.close();
});

/** A circuit before a store whose calls and probes succeed or fail as told. */
function circuitOf(store: { works: boolean; probes: boolean }, timeoutMs = 1_000) {
  const changes: boolean[] = [];
  const asked = { calls: 0, probes: 0 };
  const circuit = new Circuit({
    store: 'The store',
    timeoutMs,
    probe: async () => {
      asked.probes += 1;
      if (!store.probes) throw new Error('away');
    },
    isOutage: (error) => (error as Error).message === 'away',
    onChange: (away) => changes.push(away),
  });
  circuits.push(circuit);
  const call = async () => {
    asked.calls += 1;
    if (!store.works) throw new Error('away');
    return 'done';
  };
  return { circuit, changes, asked, call };
}

it('once a call has found the store away, others fail without asking it, until a probe succeeds', async () => {
  const store = { works: false, probes: false };
  const { circuit, changes, asked, call } = circuitOf(store);
  await expect(circuit.run(call)).rejects.toThrow(StoreAway);
  await expect(circuit.run(call)).rejects.toThrow(StoreAway);
  expect(asked.calls).toBe(1);
  await until(() => asked.probes > 1);
  Object.assign(store, { works: true, probes: true });
  await circuit.whenClosed(signal);
  expect(await circuit.run(call)).toBe('done');
  expect(changes).toEqual([true, false]);
});

it('a call that does not answer in time finds the store away', async () => {
  const { circuit, changes } = circuitOf({ works: true, probes: false }, 20);
  await expect(circuit.run(() => new Promise(() => {}))).rejects.toThrow(StoreAway);
  expect([circuit.isOpen, changes]).toEqual([true, [true]]);
});

it('an error that is no outage is the caller’s, and changes nothing', async () => {
  const { circuit, changes } = circuitOf({ works: true, probes: true });
  await expect(circuit.run(() => Promise.reject(new Error('bad data')))).rejects.toThrow('bad data');
  expect([circuit.isOpen, changes]).toEqual([false, []]);
});

it('a store that answers probes and fails at the work is one outage, probed ever more seldom', async () => {
  const store = { works: false, probes: true };
  const { circuit, changes, asked, call } = circuitOf(store);
  for (let round = 0; round < 3; round += 1) {
    await expect(circuit.run(call)).rejects.toThrow(StoreAway);
    await circuit.whenClosed(signal);
  }
  expect([changes, asked.probes]).toEqual([[true], 3]);
  store.works = true;
  await circuit.run(call);
  expect(changes).toEqual([true, false]);
});

it('a suspicion opens it only where the store fails the probe', async () => {
  const store = { works: true, probes: true };
  const { circuit, changes } = circuitOf(store);
  expect(await circuit.suspect(new Error('a connection broke'))).toBe(false);
  expect(changes).toEqual([]);
  store.probes = false;
  expect(await circuit.suspect(new Error('a connection broke'))).toBe(true);
  expect(changes).toEqual([true]);
});
