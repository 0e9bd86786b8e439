import { createNetwork, mayCreateNetwork } from './hosts/network.ts';
import { runHostFaults } from './hosts/run-host-faults.ts';

it('without the programs that make networks, the drill says what it needs', () => {
  const { PATH } = process.env;
  process.env.PATH = '/nowhere';
  try {
    expect(createNetwork).toThrow('Network namespaces need root, and the programs ip, tc and iptables.');
  } finally {
    process.env.PATH = PATH;
  }
});

// Needs permission to make network namespaces, and iptables. `npm run chaos:hosts` injects all faults, with either queue.
if (mayCreateNetwork()) {
  it('while links and hosts fail and 2 % of the packets are lost, no acknowledged delivery is lost or applied twice, and none is invented', async () => {
    const only = [
      'link of a receiving host to the stores cut',
      'the host of the stores vanishes and comes back',
    ];
    const options = { seconds: 2, injections: 1, rate: 60, loss: 0.02, seed: Date.now() % 100_000, only };
    const { outcomes, repeatedWrites } = await runHostFaults('redis', options);
    expect(outcomes.map(({ fault }) => fault)).toEqual(only);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ lost: 0, wrong: 0, invented: 0, waiting: 0, failed: 0 });
      expect(outcome.acknowledged).toBeGreaterThan(60);
    }
    expect(repeatedWrites).toBe(0);
  });
}
