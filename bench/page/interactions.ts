import type { Page } from 'playwright-core';
import type { Interaction } from './probe.js';
import { BENCH_TASKS } from './project.js';

/** Typed and removed again, one key at a time. */
const TYPED = 'write the parser of step 42 in track C';
const KEYS = TYPED.length;

const typedAfter = (round: number): string => {
  const length = (round + 1) % (2 * KEYS);
  return TYPED.slice(0, length <= KEYS ? length : 2 * KEYS - length).toLowerCase();
};
const countOf = (text: string): number =>
  BENCH_TASKS.filter(({ id, description }) => `${id} ${description}`.toLowerCase().includes(text.trim()))
    .length;

const LIST = "document.querySelector('.plan-list')";
const SCROLL_TOP = `${LIST}?.scrollTop`;
const IS_NODE_SHOWN = "document.querySelector('.task-node')?.checkVisibility() === true";
const TRANSFORM = "document.querySelector('.react-flow__viewport')?.style.transform";
/** The row in the middle of the list is drawn. */
const IS_ROW_DRAWN = `(() => {
  const box = ${LIST}.getBoundingClientRect();
  return document.elementFromPoint(box.left + 40, box.top + box.height / 2)?.closest('.plan-rows .plan-row') != null;
})()`;

const typing: Interaction = {
  name: 'list: a key typed into the filter',
  event: 'keydown',
  act: async (page, round) => {
    const isAdding = round % (2 * KEYS) < KEYS;
    await page.getByLabel('Text').press(isAdding ? (TYPED[round % KEYS] as string) : 'Backspace');
  },
  shownExpression: (round) =>
    `[...document.querySelectorAll('[role=status]')].some(({ textContent }) => textContent === '${countOf(typedAfter(round))} of 1000')`,
};

const sorting: Interaction = {
  name: 'list: the order reversed',
  event: 'keydown',
  act: (page, round) => page.getByLabel('Order').press(round % 2 === 0 ? 'ArrowDown' : 'ArrowUp'),
  shownExpression: (round) =>
    `document.querySelector('.plan-rows [aria-rowindex="2"]')?.textContent.startsWith('${round % 2 === 0 ? 'J-100' : 'A-001'}')`,
};

const scrolling: Interaction = {
  name: 'list: scrolled by the wheel',
  event: 'wheel',
  state: SCROLL_TOP,
  act: async (page, round) => {
    await page.locator('.plan-list').hover();
    await page.mouse.wheel(0, round % 40 < 20 ? 1500 : -1500);
  },
  shownExpression: () => `${SCROLL_TOP} !== before && ${IS_ROW_DRAWN}`,
};

const opening: Interaction = {
  name: 'list: a task opened',
  event: 'click',
  act: (page) => page.locator('.plan-rows a').nth(3).click(),
  shownExpression: () => "document.querySelector('h1')?.textContent.includes('-step')",
};

const toTab = (name: 'Graph' | 'List', shownExpression: string, suffix = ''): Interaction => ({
  name: `${name === 'List' ? 'the graph' : 'the list'} changed to the ${name.toLowerCase()}${suffix}`,
  event: 'click',
  act: (page) => page.getByRole('link', { name, exact: true }).click(),
  shownExpression: () => shownExpression,
});

const zooming: Interaction = {
  name: 'graph: zoomed by the button',
  event: 'click',
  state: TRANSFORM,
  act: (page, round) => page.getByRole('button', { name: round % 6 < 3 ? 'Zoom Out' : 'Zoom In' }).click(),
  shownExpression: () => `${TRANSFORM} !== before`,
};

const GRAPH_CENTRE = { x: 700, y: 520 };
const DRAG_PX = 260;
const dragging: Interaction = {
  name: 'graph: dragged by a column',
  // During a drag the graph's library stops mousemove events before later listeners see them.
  event: 'pointermove',
  state: TRANSFORM,
  prepare: async (page) => {
    await page.mouse.up();
    await page.mouse.move(GRAPH_CENTRE.x, GRAPH_CENTRE.y);
    await page.mouse.down();
  },
  act: (page, round) =>
    page.mouse.move(
      GRAPH_CENTRE.x + (round % 20 < 10 ? -DRAG_PX : DRAG_PX),
      GRAPH_CENTRE.y + (round % 2 === 0 ? -DRAG_PX : DRAG_PX),
    ),
  shownExpression: () => `${TRANSFORM} !== before`,
};

/** Far enough that all tasks are in view, and back. */
const WHEEL_ROUNDS = 12;
const wheeling: Interaction = {
  name: 'graph: zoomed by the wheel',
  event: 'wheel',
  state: TRANSFORM,
  prepare: (page) => page.mouse.move(GRAPH_CENTRE.x, GRAPH_CENTRE.y),
  act: (page, round) => page.mouse.wheel(0, round % (2 * WHEEL_ROUNDS) < WHEEL_ROUNDS ? 120 : -120),
  shownExpression: () => `${TRANSFORM} !== before`,
};

const STATUS = "document.querySelector('.palette [role=status]')?.textContent ?? ''";
/** All tasks of one track contain the letter. */
const searching: Interaction = {
  name: 'palette: a key typed',
  event: 'keydown',
  act: (page, round) => page.locator('.palette input').press(round % 2 === 0 ? 'j' : 'Backspace'),
  shownExpression: (round) => `/^50 of 1../.test(${STATUS}) === ${round % 2 === 0}`,
};

/** A part of the benchmark: its interactions are measured in turn, after `start` has prepared the page. */
export interface InteractionGroup {
  readonly address: string;
  readonly rounds: number;
  readonly interactions: readonly Interaction[];
  start?(page: Page): Promise<unknown>;
  /** Runs after each round. */
  reset?(page: Page): Promise<unknown>;
}

const waitForRows = (page: Page) => page.locator('.plan-rows .plan-row').first().waitFor();
const openPalette = async (page: Page): Promise<void> => {
  await waitForRows(page);
  await page.getByRole('button', { name: 'Search and commands' }).click();
  await page.locator('.palette [role=option]').first().waitFor();
};
const waitForNodes = (page: Page) => page.locator('.task-node').first().waitFor();

export const INTERACTION_GROUPS: readonly InteractionGroup[] = [
  { address: 'plan?tab=list', rounds: 2 * KEYS, interactions: [typing], start: waitForRows },
  { address: 'plan?tab=list&sort=id', rounds: 40, interactions: [sorting], start: waitForRows },
  { address: 'plan?tab=list', rounds: 40, interactions: [scrolling], start: waitForRows },
  {
    address: 'plan?tab=list',
    rounds: 20,
    interactions: [opening],
    start: waitForRows,
    reset: async (page) => {
      await page.goBack();
      await waitForRows(page);
    },
  },
  {
    address: 'plan',
    rounds: 20,
    interactions: [
      toTab('List', `document.querySelector('.plan-rows .plan-row') !== null`),
      toTab('Graph', IS_NODE_SHOWN),
    ],
    start: waitForNodes,
  },
  {
    address: 'plan?tab=list',
    rounds: 12,
    interactions: [toTab('Graph', IS_NODE_SHOWN, ' for the first time')],
    start: waitForRows,
    reset: async (page) => {
      await page.goBack();
      await page.reload();
      await waitForRows(page);
    },
  },
  { address: 'plan?tab=list', rounds: 40, interactions: [searching], start: openPalette },
  { address: 'plan', rounds: 24, interactions: [zooming], start: waitForNodes },
  { address: 'plan', rounds: 40, interactions: [dragging], start: waitForNodes },
  { address: 'plan', rounds: 48, interactions: [wheeling], start: waitForNodes },
];
