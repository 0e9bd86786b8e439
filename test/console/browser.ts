import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findOnPath, installWithApt, mayInstall } from '../support/apt.ts';

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * The path of a Chromium. Root on Debian installs it where it is missing, which takes a minute.
 *
 * @throws Error with one line that says what to install
 */
function findChromium(): string {
  const given = process.env.TEST_CHROMIUM;
  if (given && existsSync(given)) return given;
  const find = () => findOnPath('chromium', 'chromium-browser', 'google-chrome');
  if (!find() && mayInstall()) installWithApt('chromium');
  const found = find();
  if (!found)
    throw new Error(
      'The tests of the console need a browser: install chromium, or name one in TEST_CHROMIUM.',
    );
  return found;
}

/** The system's Chromium, headless. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args });
}

/** Signs in to a service's console. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(`${url}/console`);
  await page.getByLabel('Admin token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
}
