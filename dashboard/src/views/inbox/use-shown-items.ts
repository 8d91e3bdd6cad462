import { useRef, useState } from 'react';
import { hasUnsentText, removeUnsentText } from '../../components/use-unsent-text.js';
import { type InboxItem, keepItemsWithUnsentText, unsentTextKeysOf } from './inbox-items.js';

interface ShownItems {
  readonly shown: readonly InboxItem[];
  /** Keeps an item, so that the refusal of its answer can be read. */
  keep(item: InboxItem): void;
  /** Removes an item that no longer waits, and the text that was written about it. */
  remove(item: InboxItem): void;
}

/** The items, with those that have gone while a person was answering them. */
export function useShownItems(items: readonly InboxItem[]): ShownItems {
  const [refusedKeys, setRefusedKeys] = useState<ReadonlySet<string>>(new Set());
  const shown = useRef<readonly InboxItem[]>([]);
  const mustStay = (item: InboxItem) =>
    refusedKeys.has(item.key) || unsentTextKeysOf(item).some(hasUnsentText);
  shown.current = keepItemsWithUnsentText(shown.current, items, mustStay);
  return {
    shown: shown.current,
    keep: ({ key }) => setRefusedKeys((before) => new Set([...before, key])),
    remove(item) {
      for (const key of unsentTextKeysOf(item)) removeUnsentText(key);
      setRefusedKeys((before) => new Set([...before].filter((key) => key !== item.key)));
    },
  };
}
