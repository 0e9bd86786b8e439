import type { Command } from 'commander';

/** The commands of a group: what each does, in a line, and an example. That of the group is the first. */
const groups: Record<string, Record<string, [about: string, example: string]>> = {
  Run: {
    start: ['run the receiver (ROLE: all, receiver or worker)', 'start'],
    migrate: ['make or update the tables, as a start does', 'migrate'],
    doctor: ['check configuration and stores; exit code 1 if one fails', 'doctor --strict'],
    alerts: ['send a test alert', 'alerts test'],
    replay: ['merge callbacks again: failed ones, or given ones', 'replay --family receipt'],
    rebuild: ['make all rows again, after a new field or family', 'rebuild'],
  },
  Look: {
    find: ['find records by number, id, phone number or name', 'find JA-2671'],
    sql: ['read with SQL; without a statement: the views', `sql 'select count(*) from receipts'`],
    quarantine: ['list, show, replay or drop rejected messages', 'quarantine list --reason invalid'],
    drugs: ['search the platform’s drugs and laboratory tests', 'drugs paracetamol --limit 3'],
  },
  Patients: {
    patient: ['show, export, erase or hold a patient’s data', 'patient show platform:171234567890123'],
    erasures: ['list, export or repeat erasures', 'erasures export --output erasures.json'],
    audit: ['read the access log', 'audit list --patient platform:171234567890123'],
    retention: ['delete what is older than RETENTION says', 'retention --dry-run'],
  },
  Move: {
    move: ['bring what another database of the receiver has', 'move --from ../former/.data'],
    reconcile: ['compare appointments with the platform', 'reconcile 7 --dry-run'],
    aliases: ['import or export names of clinics and doctors', 'aliases import names.csv'],
    subscriptions: ['choose what the platform sends, and where to', 'subscriptions list'],
    destinations: ['send changes elsewhere, as signed webhooks', 'destinations list'],
  },
  Try: {
    send: ['send sample callbacks to a receiver', 'send --history'],
    sandbox: ['simulate the platform', 'sandbox --send-to http://127.0.0.1:8080'],
  },
};

/** Lists the commands by groups, and gives each an example. */
export function addHelp(program: Command): void {
  const lines = Object.entries(groups).flatMap(([group, commands]) => [
    `${group}, for example: npx receiver ${Object.values(commands)[0]![1]}`,
    ...Object.entries(commands).map(([name, [about]]) => `  ${name.padEnd(15)}${about}`),
    '',
  ]);
  program.configureHelp({
    subcommandTerm: (command) => command.name(),
    formatItemList: (heading, items) =>
      heading === 'Commands:' ? lines : items.length > 0 ? [heading, ...items, ''] : [],
  });
  program.addHelpText('after', '\nOptions of a command: npx receiver <command> --help');
  const examples = new Map(
    Object.values(groups).flatMap((commands) =>
      Object.entries(commands).map(([name, [, example]]) => [name, example] as const),
    ),
  );
  for (const command of program.commands) {
    const example = examples.get(command.name());
    if (example) command.addHelpText('after', `\nExample: npx receiver ${example}`);
  }
}
