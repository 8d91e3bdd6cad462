import { useRef, useState } from 'react';
import { hasUnsentText, removeUnsentText } from '../../components/use-unsent-text.js';
import { type InboxItem, keepItemsWithUnsentText, unsentKeysOf } from './inbox-items.js';

interface ShownItems {
  readonly shown: readonly InboxItem[];
  /** Keeps an item, so that the refusal of its answer can be read. */
  keep(item: InboxItem): void;
  /** Removes an item that no longer waits, with what was written about it. */
  remove(item: InboxItem): void;
}

/** The items, with those that have gone while a person was answering them. */
export function useShownItems(items: readonly InboxItem[]): ShownItems {
  const [refused, setRefused] = useState<ReadonlySet<string>>(new Set());
  const shown = useRef<readonly InboxItem[]>([]);
  const isBegun = (item: InboxItem) => refused.has(item.key) || unsentKeysOf(item).some(hasUnsentText);
  shown.current = keepItemsWithUnsentText(shown.current, items, isBegun);
  return {
    shown: shown.current,
    keep: ({ key }) => setRefused((before) => new Set([...before, key])),
    remove(item) {
      for (const key of unsentKeysOf(item)) removeUnsentText(key);
      setRefused((before) => new Set([...before].filter((key) => key !== item.key)));
    },
  };
}
