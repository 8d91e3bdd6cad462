import { useState } from 'react';

const PREFIX = 'genesis-draft:';

/** Whether a text was begun and not sent. */
export const hasDraft = (key: string): boolean => (sessionStorage.getItem(PREFIX + key) ?? '') !== '';

export const removeDraft = (key: string): void => sessionStorage.removeItem(PREFIX + key);

/** A text that a person types. It survives a refresh of the data and a reload of the page, until it is sent. */
export function useDraft(key: string): readonly [text: string, change: (text: string) => void] {
  const [draft, setDraft] = useState({ key, text: sessionStorage.getItem(PREFIX + key) ?? '' });
  const text = draft.key === key ? draft.text : (sessionStorage.getItem(PREFIX + key) ?? '');
  const changeDraft = (changed: string) => {
    if (changed === '') sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, changed);
    setDraft({ key, text: changed });
  };
  return [text, changeDraft];
}
