import type { Command } from 'commander';

/** An example of each command of a group; that of the group is the first. Groups are shown in the order of commands. */
const groups = {
  Run: ['start', 'migrate', 'doctor --strict', 'alerts test', 'replay --family receipt', 'rebuild'],
  Look: [`sql 'select count(*) from receipts'`, 'quarantine list', 'drugs paracetamol --limit 3'],
  Move: [
    'move --from ../former/.data',
    'reconcile 7 --dry-run',
    'aliases import names.csv',
    'subscriptions list',
    'destinations list',
  ],
  Patients: [
    'patient show platform:171234567890123',
    'erasures export --output erasures.json',
    'audit list --patient platform:171234567890123',
    'retention --dry-run',
  ],
  Try: ['send --history', 'sandbox --send-to http://127.0.0.1:8080'],
};

/** Lists the commands by groups, and gives each an example. */
export function addHelp(program: Command): void {
  program.configureHelp({ subcommandTerm: (command) => command.name() });
  program.addHelpText('after', '\nOptions of a command: npx receiver <command> --help');
  for (const [group, examples] of Object.entries(groups)) {
    const heading = `${group}, for example: npx receiver ${examples[0]}`;
    for (const example of examples) {
      const command = program.commands.find((one) => one.name() === example.split(' ')[0]);
      command?.helpGroup(heading).addHelpText('after', `\nExample: npx receiver ${example}`);
    }
    if (group === 'Try') program.commandsGroup(heading).helpCommand(true);
  }
}
