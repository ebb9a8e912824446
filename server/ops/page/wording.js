"use strict";
// Numbers and times in few characters, and always in the same ones, so that columns do not dance.

const NOTHING = "–";
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 7, 1,234, 1.2M. */
function figure(value) {
  if (value === null || value === undefined) return NOTHING;
  if (Math.abs(value) >= 100000) return SHORT.format(value);
  return Math.abs(value) < 10 && value % 1 !== 0 ? value.toFixed(1) : WHOLE.format(value);
}

/** Milliseconds as 4.3 ms, 412 ms, 1.24 s. */
function duration(ms) {
  if (ms === null || ms === undefined) return NOTHING;
  if (Math.abs(ms) >= 999.5) return ms < 100000 ? `${(ms / 1000).toFixed(2)} s` : span(ms / 1000);
  return `${Math.abs(ms) < 9.95 && ms % 1 !== 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** Seconds as 14 s, 3 min 20 s, 5 h 12 min, 3 d. */
function span(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${figure(Math.floor(s / 86400))} d`;
}

/** A share as 0 %, 0.4 %, 38 %. */
function percent(share) {
  if (share === null || !Number.isFinite(share)) return NOTHING;
  const hundredths = share * 100;
  return `${hundredths > 0 && hundredths < 9.95 ? Number(hundredths.toFixed(1)) : Math.round(hundredths)} %`;
}

/** Epoch seconds as the clock time of whoever looks, 03:12:44. */
function clockTime(epoch) {
  if (epoch === null || Math.abs(epoch) > 8e12) return NOTHING;
  return new Date(epoch * 1000).toLocaleTimeString("en-GB");
}

function plural(n, one, many = `${one}s`) {
  return `${figure(n)} ${n === 1 ? one : many}`;
}

/** a, b and c; of more than `most` it says how many there are. */
function together(words, most = 3) {
  const shown = words.length > most ? [...words.slice(0, most - 1), `${words.length - most + 1} more`] : words;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
}

function capitalised(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
