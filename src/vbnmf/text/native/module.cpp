// Split texts into terms, and count them. text/analyzers.py and text/features.py are the specification, and the only
// callers: they pass texts in lower case, in NFC, or of plain letters, where that matters.
//
// Letters and spaces are those of Python's `re` and `str.split`: Python is asked once for each character that occurs.
// Only functions of Python's stable ABI are used.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "terms.h"

namespace nb = nanobind;
using namespace vbnmf;

namespace {

using Character = uint32_t;

// What Python says of characters beyond ASCII: 0 if it was not asked, otherwise ASKED and the bits below.
enum : uint8_t { ASKED = 1, LETTER = 2, SPACE = 4 };
std::vector<uint8_t> known_kinds;

uint8_t kind_of(Character c) {
  if (c > 0x10FFFF) throw std::out_of_range("not a character of Unicode");
  if (known_kinds.empty()) known_kinds.resize(0x110000, 0);
  uint8_t& kind = known_kinds[c];
  if (!kind) {
    const nb::object character = nb::steal(PyUnicode_FromOrdinal((int)c));
    if (!character.is_valid()) throw nb::python_error();
    const bool letter = nb::cast<bool>(character.attr("isalnum")());
    const bool space = nb::cast<bool>(character.attr("isspace")());
    kind = (uint8_t)(ASKED | (letter ? LETTER : 0) | (space ? SPACE : 0));
  }
  return kind;
}

bool is_space(Character c) {
  if (c < 128) return c == ' ' || c - 9 < 5u || c - 0x1C < 4u;
  return kind_of(c) & SPACE;
}

bool is_letter(Character c) { // \w
  if (c < 128) return ((c | 32) - 'a' < 26u) || (c - '0' < 10u) || c == '_';
  return kind_of(c) & LETTER;
}

// Append a character in UTF-8. Lone surrogates are encoded like other characters.
void append(std::string& out, Character c) {
  if (c < 0x80) {
    out += (char)c;
    return;
  }
  if (c < 0x800) {
    out += (char)(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      out += (char)(0xE0 | c >> 12);
    } else {
      out += (char)(0xF0 | c >> 18);
      out += (char)(0x80 | (c >> 12 & 63));
    }
    out += (char)(0x80 | (c >> 6 & 63));
  }
  out += (char)(0x80 | (c & 63));
}

// Call `visit` with a pointer to the characters of a text, and their number.
template <class Visit> void visit_text(nb::handle text, Visit visit) {
  if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text must be a str");
  if (nb::cast<bool>(text.attr("isascii")())) {
    Py_ssize_t n;
    const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &n); // no copy
    if (!bytes) throw nb::python_error();
    return visit((const unsigned char*)bytes, n);
  }
  const Py_ssize_t n = PyUnicode_GetLength(text.ptr());
  std::vector<Character> characters((size_t)n);
  if (!PyUnicode_AsUCS4(text.ptr(), characters.data(), n, 0)) throw nb::python_error();
  visit(characters.data(), n);
}

Character lowered(Character c, bool lower) { return lower && c - 'A' < 26u ? c | 32 : c; }

// Words of two letters or more that are no stop words: \w\w+
void count_words(Counts& counts, nb::handle text, bool lower, const Terms* stop) {
  std::string word;
  visit_text(text, [&](const auto* s, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n;) {
      if (!is_letter(s[i])) {
        ++i;
        continue;
      }
      const Py_ssize_t begin = i;
      for (word.clear(); i < n && is_letter(s[i]); ++i) append(word, lowered(s[i], lower));
      if (i - begin > 1 && !(stop && stop->find(word.data(), word.size()) >= 0))
        counts.see(word.data(), word.size());
    }
  });
}

// Marks: signs and words of one letter that are not excluded. Pairs: two words or signs in succession.
void count_tokens(Counts& counts, nb::handle text, bool lower, bool marks, bool pairs, const Terms& excluded) {
  struct Token {
    size_t begin, end;
    bool single;
  };
  std::string all; // the tokens with one space between two, so that a pair is a part of it
  std::vector<Token> tokens;
  visit_text(text, [&](const auto* s, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n;) {
      const Py_ssize_t begin = i;
      if (!is_letter(s[i]) && is_space(s[i])) {
        ++i;
        continue;
      }
      if (!tokens.empty()) all += ' ';
      const size_t from = all.size();
      if (is_letter(s[i]))
        while (i < n && is_letter(s[i])) append(all, lowered(s[i++], lower));
      else
        append(all, s[i++]);
      tokens.push_back({from, all.size(), i - begin == 1});
    }
  });
  if (marks)
    for (const Token& token : tokens) {
      const size_t n = token.end - token.begin;
      if (token.single && excluded.find(&all[token.begin], n) < 0) counts.see(&all[token.begin], n);
    }
  if (pairs)
    for (size_t i = 1; i < tokens.size(); ++i)
      counts.see(&all[tokens[i - 1].begin], tokens[i].end - tokens[i - 1].begin);
}

// Call `visit` with the place of each part between spaces.
template <class C, class Visit> void visit_parts(const C* s, Py_ssize_t n, Visit visit) {
  for (Py_ssize_t i = 0; i < n;) {
    if (is_space(s[i])) {
      ++i;
      continue;
    }
    const Py_ssize_t begin = i;
    while (i < n && !is_space(s[i])) ++i;
    visit(begin, i);
  }
}

void count_parts(Counts& counts, nb::handle text) {
  std::string part;
  visit_text(text, [&](const auto* s, Py_ssize_t n) {
    visit_parts(s, n, [&](Py_ssize_t begin, Py_ssize_t end) {
      part.clear();
      for (Py_ssize_t i = begin; i < end; ++i) append(part, s[i]);
      counts.see(part.data(), part.size());
    });
  });
}

// All neighbouring characters of parts, with a space at both ends. A space alone is no piece.
void count_pieces(Counts& counts, nb::handle text, size_t shortest, size_t longest) {
  std::string padded;
  std::vector<size_t> at; // where each character begins, and the end
  visit_text(text, [&](const auto* s, Py_ssize_t n) {
    visit_parts(s, n, [&](Py_ssize_t begin, Py_ssize_t end) {
      padded = " ";
      at = {0};
      for (Py_ssize_t i = begin; i < end; ++i) {
        at.push_back(padded.size());
        append(padded, s[i]);
      }
      at.push_back(padded.size());
      padded += ' ';
      at.push_back(padded.size());
      for (size_t length = shortest; length <= longest; ++length) {
        const size_t edge = length == 1;
        for (size_t i = edge; i + length + edge < at.size(); ++i)
          counts.see(&padded[at[i]], at[i + length] - at[i]);
      }
    });
  });
}

std::string encoded(nb::handle term) {
  std::string out;
  visit_text(term, [&](const auto* s, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; ++i) append(out, s[i]);
  });
  return out;
}

void count_terms(Counts& counts, nb::handle terms) {
  for (nb::handle term : terms) {
    const std::string bytes = encoded(term);
    counts.see(bytes.data(), bytes.size());
  }
}

// Hand a vector over to NumPy, which frees it.
template <class T> auto handed_over(std::vector<T>& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete (std::vector<T>*)p; });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

} // namespace

NB_MODULE(_native, m) {
  nb::set_leak_warnings(false); // models of a program hold terms until it ends
  m.doc() = "Compiled counting of terms; use it through vbnmf.text.counting.";
  nb::class_<Terms>(m, "Terms")
      .def("__init__",
           [](Terms* self, nb::handle terms) {
             new (self) Terms();
             for (nb::handle term : terms) {
               const std::string bytes = encoded(term);
               self->find_or_add(bytes.data(), bytes.size());
             }
           },
           nb::arg("terms"))
      .def("__len__", &Terms::size)
      .def("names", [](const Terms& self) {
        nb::list names;
        for (int32_t id = 0; id < self.size(); ++id)
          names.append(nb::steal(PyUnicode_DecodeUTF8(self.begin(id), (Py_ssize_t)self.length(id), "surrogatepass")));
        return names;
      });
  nb::class_<Counts>(m, "Counts")
      .def(nb::init<Terms&, bool>(), nb::keep_alive<1, 2>(), nb::arg("terms"), nb::arg("adds"))
      .def("words", &count_words, nb::arg("text"), nb::arg("lower"), nb::arg("stop").none())
      .def("tokens", &count_tokens, nb::arg("text"), nb::arg("lower"), nb::arg("marks"), nb::arg("pairs"),
           nb::arg("excluded"))
      .def("parts", &count_parts, nb::arg("text"))
      .def("pieces", &count_pieces, nb::arg("text"), nb::arg("shortest"), nb::arg("longest"))
      .def("terms", &count_terms, nb::arg("terms"))
      .def("end", &Counts::end)
      .def("taken", [](Counts& self) {
        return nb::make_tuple(handed_over(self.values), handed_over(self.columns), handed_over(self.ends));
      });
}
