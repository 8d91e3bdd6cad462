import { type KeyboardEvent, useDeferredValue, useEffect, useId, useMemo, useState } from 'react';
import { Dialog, Modal, ModalOverlay } from 'react-aria-components';
import { visibleText } from '../components/untrusted-text.js';
import { type FoundEntries, findEntries, type PaletteEntry } from './entries.js';
import { useEntries } from './use-entries.js';
import './palette.css';

const ENTRIES_SHOWN_MAX = 50;

/** Finds tasks, edges, agents, runs and views by text, and runs commands, with the keyboard alone. */
export default function Palette({ onClose }: { onClose: () => void }) {
  return (
    <ModalOverlay
      className="dialog-ground palette-ground"
      isOpen
      isDismissable
      onOpenChange={(isOpen) => isOpen || onClose()}
    >
      <Modal className="dialog palette">
        <Dialog aria-label="Search and commands">
          <Search onClose={onClose} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** An input with a list of what it finds, by the pattern of a combobox: the focus stays in the input. */
function Search({ onClose }: { onClose: () => void }) {
  const listId = useId();
  const [text, setText] = useState('');
  const [index, setIndex] = useState(0);
  const entries = useEntries();
  // The typed text appears at once, and the list follows.
  const deferredText = useDeferredValue(text);
  const found = useMemo(() => findEntries(entries, deferredText, ENTRIES_SHOWN_MAX), [entries, deferredText]);
  const activeIndex = Math.min(index, found.shown.length - 1);
  const open = (entry: PaletteEntry) => {
    onClose();
    entry.open();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const count = found.shown.length;
    const target = { ArrowDown: (activeIndex + 1) % count, ArrowUp: (activeIndex + count - 1) % count }[
      event.key
    ];
    // Enter opens the entry that matches the typed text, even before the list shows it.
    const { shown } = deferredText === text ? found : findEntries(entries, text, ENTRIES_SHOWN_MAX);
    const entry = shown[activeIndex];
    if (event.key === 'Enter' && entry !== undefined && !event.nativeEvent.isComposing) open(entry);
    else if (target !== undefined && count > 0) setIndex(target);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        // biome-ignore lint/a11y/noAutofocus: the dialog was opened to type
        autoFocus
        role="combobox"
        aria-label="Search for tasks, edges, agents, runs and commands"
        aria-autocomplete="list"
        aria-expanded={found.shown.length > 0}
        aria-controls={listId}
        aria-activedescendant={activeIndex < 0 ? undefined : optionId(listId, activeIndex)}
        placeholder="Task, edge, agent, run or command"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
      />
      <Entries listId={listId} found={found} activeIndex={activeIndex} onOpen={open} />
      <p className="quiet palette-help">
        <span role="status">{countText(found)}</span>
        <span aria-hidden="true">↑ ↓ choose · Enter open · Esc close</span>
      </p>
    </>
  );
}

const optionId = (listId: string, index: number): string => `${listId}-${index}`;

function countText({ shown, moreCount }: FoundEntries): string {
  if (shown.length === 0) return 'Nothing found.';
  return moreCount === 0 ? `${shown.length} found` : `${shown.length} of ${shown.length + moreCount} found`;
}

interface EntriesProps {
  readonly listId: string;
  readonly found: FoundEntries;
  readonly activeIndex: number;
  readonly onOpen: (entry: PaletteEntry) => void;
}

function Entries({ listId, found, activeIndex, onOpen }: EntriesProps) {
  useEffect(() => {
    document.getElementById(optionId(listId, activeIndex))?.scrollIntoView({ block: 'nearest' });
  }, [listId, activeIndex]);
  return (
    <div id={listId} role="listbox" aria-label="Found" className="palette-list">
      {found.shown.map((entry, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
        <div
          key={`${entry.kind} ${entry.name}`}
          id={optionId(listId, index)}
          role="option"
          aria-selected={index === activeIndex}
          onClick={() => onOpen(entry)}
        >
          <span className="mark palette-kind">{entry.kind}</span>
          <span className="palette-name">{visibleText(entry.name)}</span>
          <span className="palette-detail quiet">{visibleText(entry.detail)}</span>
        </div>
      ))}
    </div>
  );
}
