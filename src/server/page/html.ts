export const PAGE_HTML = '<!doctype html><title>Genesis Fleet</title>';
