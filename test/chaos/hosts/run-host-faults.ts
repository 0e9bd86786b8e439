import type { Backend } from '../deployment.ts';
import { type Outcome, runFault } from '../run-fault.ts';
import { startHosts } from './deployment.ts';
import { hostFaults } from './faults.ts';

export interface HostsRunOptions {
  /** For each fault. */
  seconds: number;
  injections: number;
  /** Callbacks a second. */
  rate: number;
  /** The share of all packets that is lost, 0 to 1. */
  loss: number;
  seed: number;
  /** Names of the faults. Default: all. */
  only?: readonly string[];
  onAttempt?: () => void;
}

export interface HostsRun {
  outcomes: Outcome[];
  /** Writes of rows, without the first of each delivery. */
  repeatedWrites: number;
}

/** Injects the faults one after another under load, on hosts between which packets are lost all the time. */
export async function runHostFaults(backend: Backend, options: HostsRunOptions): Promise<HostsRun> {
  const deployment = await startHosts(backend);
  try {
    await deployment.network.lose(options.loss);
    const outcomes: Outcome[] = [];
    for (const fault of hostFaults) {
      if (options.only && !options.only.includes(fault.name)) continue;
      const outcome = await runFault(deployment, fault, {
        ...options,
        seed: options.seed + outcomes.length,
        // Open loop: attempts at a host that is away must not keep others from being sent.
        sender: { connections: 800, timeoutMs: 3_000 },
      });
      outcomes.push(outcome);
    }
    return { outcomes, repeatedWrites: outcomes.reduce((sum, { repeated }) => sum + repeated, 0) };
  } finally {
    await deployment.stop();
  }
}
