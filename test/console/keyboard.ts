import type { Locator, Page } from 'playwright-core';

const mostTabs = 250;

export type Keyboard = ReturnType<typeof useKeyboard>;

/** A person who has no mouse. It counts what a task takes: keys, and what of them are the clicks of one who has a mouse. */
export function useKeyboard(page: Page) {
  const taken = { keys: 0, clicks: 0 };
  const press = async (key: string) => {
    taken.keys += 1;
    await page.keyboard.press(key);
  };
  const type = async (text: string) => {
    taken.keys += text.length;
    await page.keyboard.type(text);
  };
  /** Goes forward with Tab. */
  const tabTo = async (wanted: Locator) => {
    const element = wanted.first();
    await element.waitFor({ state: 'attached' });
    const hasFocus = () => element.evaluate((one) => one === document.activeElement);
    for (let tabs = 0; !(await hasFocus()); tabs += 1) {
      if (tabs === mostTabs) throw new Error(`Tab does not lead to ${wanted}.`);
      await press('Tab');
    }
  };
  /** Follows a link or presses a button of the page's content. */
  const open = async (wanted: Locator, key = 'Enter') => {
    await tabTo(wanted);
    taken.clicks += 1;
    await press(key);
  };
  return {
    taken,
    press,
    type,
    tabTo,
    open,
    /** From the top of a page, past the navigation. */
    skip: async () => {
      await press('Tab');
      await press('Enter');
    },
    skipFilters: async () => {
      await tabTo(page.getByRole('link', { name: 'Skip the filters' }));
      await press('Enter');
    },
    /** Opens a section by its key, which stands for a click on the navigation. */
    goTo: async (key: string, heading: string) => {
      await press('g');
      await press(key);
      taken.clicks += 1;
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
    },
    /** Searches from any page; the search field stands for a click. */
    search: async (text: string) => {
      taken.clicks += 1;
      await press('/');
      await type(text);
      await press('Enter');
      await page.waitForURL(/\/(search|records|reports)/);
      await page.waitForLoadState();
    },
  };
}
