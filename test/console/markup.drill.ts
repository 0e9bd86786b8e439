import { HtmlValidate } from 'html-validate';
import { paths, samples } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { post } from '../support/service.ts';
import { tourConsole } from './tour.ts';
import { useConsole } from './use-console.ts';

const { database, service } = useConsole();
const validator = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: {
    // How the renderer writes them.
    'void-style': 'off',
    'doctype-style': 'off',
    // Lists may have names.
    'aria-label-misuse': ['error', { allowAnyNamable: true }],
  },
});

it('every page is valid HTML', async () => {
  await apply(
    database,
    Object.values(samples).map((sample) => sample()),
  );
  await post(service.url + paths.receipt, '{"event":"receipt.created"');
  const pages: [path: string, page: string][] = [];
  await tourConsole(
    service.url,
    (query) => database.rows(query),
    (...page) => pages.push(page),
  );
  expect(pages.length).toBeGreaterThan(60);
  const found: string[] = [];
  for (const [path, page] of pages) {
    const { results } = await validator.validateString(page);
    for (const { ruleId, message, selector } of results.flatMap(({ messages }) => messages))
      found.push(`${path} ${selector} ${ruleId}: ${message}`);
  }
  expect(found).toEqual([]);
});
